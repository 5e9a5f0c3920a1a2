//go:build !unix

package servers

// Servers are started by a shell script and driven by signals: elsewhere Start finds none installed, and nothing is left to end.

// Kill ends the server at once, as a crash does.
func (s *Server) Kill() { s.gone = true }

// Stop asks the server to end and waits.
func (s *Server) Stop() { s.gone = true }

// Pause stops the process; Continue wakes it.
func (s *Server) Pause() {}

// Continue wakes what Pause stopped.
func (s *Server) Continue() {}
