; inherits: c

(class_specifier name: (type_identifier) @name body: (_)) @class
(namespace_definition name: (_) @name) @module
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @method
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier) @name)) @method
(function_definition declarator: (reference_declarator
  (function_declarator declarator: (_) @name))) @function
(function_definition declarator: (pointer_declarator
  declarator: (function_declarator declarator: (qualified_identifier) @name))) @method
(field_declaration declarator: (function_declarator declarator: (field_identifier) @name)) @method
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
(using_declaration) @import
(raw_string_literal) @string
