(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @constant))
(type_alias_statement left: (type (identifier) @name)) @type
(import_statement) @import
(import_from_statement) @import
(comment) @comment
(string_content) @string
