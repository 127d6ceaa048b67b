package api

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"
)

// isUnavailable reports whether an error means that the database cannot be worked with for now, so
// that the same request may work later.
func isUnavailable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return unavailableState(pg.Code)
	}
	var connect *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &connect) || errors.As(err, &network) {
		return true
	}
	for _, lost := range []error{
		puddle.ErrClosedPool, pgconn.ErrConnClosed,
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, // the server went away in mid-query
		context.DeadlineExceeded, // no connection came free in time
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}

// unavailableState looks at the classes of SQLSTATE that pass by themselves (PostgreSQL's manual,
// appendix A).
func unavailableState(state string) bool {
	for _, class := range []string{
		"08",    // connection exception
		"40",    // transaction rollback: deadlock, serialization failure
		"53",    // insufficient resources, such as too_many_connections
		"57P",   // operator intervention: shutdown, crash, starting up
		"25006", // read-only: a fail-over is under way
	} {
		if strings.HasPrefix(state, class) {
			return true
		}
	}
	return false
}
