package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/provisiond/provisiond/provider"
)

// SQLSTATEs, from appendix A of PostgreSQL's manual. Those of two digits are classes.
var (
	unavailable = []string{
		"08", // connection exception
		"28", // the administrator's login is refused
		"53", // insufficient resources: too many connections, disk full, out of memory
		"57", // operator intervention: starting up, shutting down, statement timeout
		"58030",
	}
	conflict = []string{
		"55006", // object in use: someone is connected to template0
		"55P03", // lock not available within lock_timeout
		"40",    // transaction rollback: deadlock, serialization
		// Another worker, or a statement whose answer was lost, was faster. The next call finds its work.
		"42P04", // duplicate database
		"42710", // duplicate object
		"23505", // unique violation, on a system catalog
	}
	// A role still owns something: a database that appeared since the search, for which the next call
	// looks again, or objects that its user put into another database.
	dependent             = []string{"2BP01"}
	insufficientPrivilege = []string{"42501"}
)

// failure turns an error of a call of the server into one of the contract's. The words complete "Could
// not …". A nil error and one of the contract's own stay as they are.
func failure(ctx context.Context, doing string, err error) error {
	var own *provider.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	state, answered := sqlState(err)
	switch {
	case !answered || in(unavailable, state):
		return &provider.Error{Code: provider.ErrUnavailable, Retryable: true, Cause: err,
			Message: fmt.Sprintf("Could not %s: the PostgreSQL server is not available.", doing)}
	case in(conflict, state):
		return &provider.Error{Code: provider.ErrConflict, Retryable: true, Cause: err,
			Message: fmt.Sprintf("Could not %s: the PostgreSQL server is busy with the same thing.", doing)}
	case in(dependent, state):
		return &provider.Error{Code: provider.ErrConflict, Retryable: true, Cause: err,
			Message: fmt.Sprintf("Could not %s: something on the PostgreSQL server still belongs to them.", doing)}
	case in(insufficientPrivilege, state):
		return rejected(fmt.Sprintf("Could not %s: the PostgreSQL administrator lacks the right to. "+
			"An operator must grant it.", doing), err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// sqlState returns the server's code for the error, and false when the error is not the server's
// answer: then the connection failed or timed out.
func sqlState(err error) (string, bool) {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return answer.Code, true
	}
	return "", false
}

func in(states []string, state string) bool {
	return slices.ContainsFunc(states, func(s string) bool { return strings.HasPrefix(state, s) })
}

func rejected(message string, cause error) error {
	return &provider.Error{Code: provider.ErrRejected, Message: message, Cause: cause}
}

// notMine is the error for a thing of our name that is someone else's.
func notMine(kind, name string) error {
	return &provider.Error{Code: provider.ErrNotMine, Message: fmt.Sprintf(
		"A %s named %s exists on the PostgreSQL server and is not the instance's. "+
			"It was left alone; an operator must look at it.", kind, name)}
}

// oneLine writes joined errors in a row.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
