package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// databasesWith lists the databases where the roles own something or are granted something, but for those
// that take no connections. Some are none of the instance's: every role can make a large object where it may
// connect, and whoever owns a table can grant it to every role of the server.
func (s *session) databasesWith(ctx context.Context, roles []string) ([]string, error) {
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, _ := s.conn.Query(qctx, `SELECT DISTINCT datname::text
		FROM pg_shdepend JOIN pg_database d ON d.oid = dbid JOIN pg_roles r ON r.oid = refobjid
		WHERE refclassid = 'pg_authid'::regclass AND rolname = ANY ($1::text[])
			AND datallowconn AND datconnlimit <> -2 ORDER BY 1`, roles)
	databases, err := pgx.CollectRows(rows, pgx.RowTo[string]) // tells of Query's error, too
	return databases, failure(ctx, "look for what the roles own", err)
}

// inDatabase executes the commands in one transaction in the database.
func (d *driver) inDatabase(ctx context.Context, database string, commands func(tx pgx.Tx) error) error {
	s, err := d.openTenant(ctx, database, "pg_catalog")
	if err != nil {
		return err
	}
	defer s.close(ctx)
	return s.inTx(ctx, commands)
}

// dropOwned drops what the roles own in the database, and what is granted to them there.
func dropOwned(ctx context.Context, tx pgx.Tx, roles []string) error {
	for _, role := range roles {
		if err := ddl(ctx, tx, `DROP OWNED BY %I`, role); err != nil {
			return err
		}
	}
	return nil
}
