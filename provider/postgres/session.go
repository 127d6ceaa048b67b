package postgres

import (
	"context"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A session is a connection to the server as the administrator.
type session struct{ conn *pgx.Conn }

// open connects to the administrator's database. Only PostgreSQL's own functions and operators are found
// there: in a database where tenants can make things, theirs could be a better match.
func (d *driver) open(ctx context.Context) (*session, error) {
	config := d.admin.Copy()
	config.RuntimeParams["search_path"] = "pg_catalog"
	return dial(ctx, config)
}

// openInstance connects to the instance's database, as the administrator.
func (d *driver) openInstance(ctx context.Context, n names) (*session, error) {
	return d.openTenant(ctx, n.owner, "public") // where extensions go
}

// openTenant connects as the administrator to a database whose owner is not to be trusted: what ALTER
// DATABASE set there must not reach this session.
func (d *driver) openTenant(ctx context.Context, database, searchPath string) (*session, error) {
	config := d.admin.Copy()
	config.Database = database
	params := map[string]string{"role": "none", "default_transaction_read_only": "off"}
	maps.Copy(params, config.RuntimeParams) // the operator's own
	params["search_path"] = searchPath
	config.RuntimeParams = params
	return dial(ctx, config)
}

func dial(ctx context.Context, config *pgx.ConnConfig) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, failure(ctx, "connect", err)
	}
	return &session{conn}, nil
}

// close says goodbye to the server, also when the job's context is done.
func (s *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_ = s.conn.Close(ctx) // the connection is gone either way
}

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ddl executes a command that takes no parameters. The server puts the arguments in, %I as identifiers
// and %L as literals, so that the quoting is its own.
func ddl(ctx context.Context, q querier, command string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := q.QueryRow(ctx, `SELECT pg_catalog.format($1, VARIADIC $2::text[])`, command, args).Scan(&command); err != nil {
		return err
	}
	_, err := q.Exec(ctx, command)
	return err
}

// inTx executes the commands together or not at all.
func (s *session) inTx(ctx context.Context, commands func(tx pgx.Tx) error) error {
	bctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	tx, err := s.conn.Begin(bctx)
	if err != nil {
		return err
	}
	err = commands(tx)
	ectx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err != nil {
		_ = tx.Rollback(ectx) // else the connection's end does it
		return err
	}
	return tx.Commit(ectx)
}
