module github.com/controlee/controlee

go 1.26.0
