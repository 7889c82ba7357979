package collect

import (
	"errors"
	"fmt"
)

// ErrorKind is the class of a failure; the classes are those of the column
// error_kind.
type ErrorKind string

// The error kinds.
const (
	ErrConnect   ErrorKind = "connect"      // no connection
	ErrTLS       ErrorKind = "tls"          // the certificate or the handshake is bad
	ErrTimeout   ErrorKind = "timeout"      // the whole request took too long
	ErrStall     ErrorKind = "stall"        // no progress for too long
	ErrHTTP      ErrorKind = "http"         // status ≥ 400, or a redirect that can't be followed
	ErrServer    ErrorKind = "server_error" // an error inside a good response
	ErrTruncated ErrorKind = "truncated"    // the body ended early
	ErrReset     ErrorKind = "reset"        // the connection was reset
	ErrProtocol  ErrorKind = "protocol"     // bytes that make no sense
	ErrEmpty     ErrorKind = "empty"        // a complete answer without output and tokens
	ErrCancelled ErrorKind = "cancelled"    // by the user
)

// Failure is why a request failed. It is an error while it travels and a fact
// once it is stored.
type Failure struct {
	Kind       ErrorKind
	Message    string // one line, without paths of the server's machine
	HTTPStatus *int64
	RetryAfter *float64 // seconds
}

// Error is "kind: message".
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Message }

// Failf makes a Failure.
func Failf(kind ErrorKind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// AsFailure finds the Failure in err; an error that carries none is of kind
// fallback.
func AsFailure(err error, fallback ErrorKind) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Kind: fallback, Message: err.Error()}
}
