//go:build tools

// Package etcd names the program to build, so that `go mod tidy` keeps what it is made of.
package etcd

import _ "go.etcd.io/etcd/server/v3"
