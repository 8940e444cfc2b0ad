(class_declaration name: (_) @name) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
(program (export_statement
  (lexical_declaration (variable_declarator name: (identifier) @name) @constant)))
(import_statement) @import
(comment) @comment
(string) @string
(template_string (string_fragment) @string)
