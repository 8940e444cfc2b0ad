; inherits: ecmascript

(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(function_signature name: (identifier) @name) @function
(abstract_method_signature name: (property_identifier) @name) @method
(internal_module name: (_) @name) @module
