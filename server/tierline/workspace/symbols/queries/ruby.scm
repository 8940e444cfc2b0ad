(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @method
(singleton_method name: (_) @name) @method
(program (assignment left: (constant) @name) @constant)
(body_statement (assignment left: (constant) @name) @constant)
(call method: (identifier) @_m (#match? @_m "^(require|require_relative|load)$")) @import
(comment) @comment
(string_content) @string
