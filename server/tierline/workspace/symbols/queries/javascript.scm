; inherits: ecmascript

(class_declaration name: (identifier) @name) @class
(assignment_expression left: (member_expression property: (property_identifier) @name)
  right: [(arrow_function) (function_expression)]) @function
