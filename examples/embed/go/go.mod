module example.com/embed

go 1.19

require github.com/tetratelabs/wazero v1.5.0
