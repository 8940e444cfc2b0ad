(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @constant)
(command name: (command_name) @_c (#match? @_c "^(source|[.])$")) @import
(comment) @comment
(raw_string) @string
