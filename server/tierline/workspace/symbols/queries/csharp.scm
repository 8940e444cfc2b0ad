(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(struct_declaration name: (identifier) @name) @struct
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @class
(delegate_declaration name: (identifier) @name) @type
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(property_declaration name: (identifier) @name) @property
(namespace_declaration name: (_) @name) @module
(using_directive) @import
(comment) @comment
(string_literal) @string
(verbatim_string_literal) @string
