// Package sinktest is the conformance suite of sinks ([Run]) and the reference sink that engine tests use ([Memory]).
package sinktest
