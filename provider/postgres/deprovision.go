package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// Deprovision implements provider.Driver.
func (d *driver) Deprovision(ctx context.Context, r *provider.Request) error {
	n, err := namesOf(r)
	if err != nil {
		return err
	}
	s, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	have, err := s.inspect(ctx, n)
	if err != nil {
		return err
	}
	if err := have.mine(); err != nil {
		return err
	}
	if have.database {
		if err := s.dropDatabase(ctx, r, n, have); err != nil {
			return err
		}
	}
	return d.dropRoles(ctx, s, r, n, have)
}

// dropDatabase ends the database's sessions and drops it.
func (s *session) dropDatabase(ctx context.Context, r *provider.Request, n names, have inventory) error {
	err := r.Report(ctx, provider.Progress{Percent: 10, Step: "drop_database", Message: "Dropping the database."})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !have.broken {
		// Without this a client that reconnects at once could get in between the last session's end and
		// the drop. A template, which its owner can make of it, is not dropped. A broken database takes no
		// connections, and no ALTER.
		err := ddl(ctx, s.conn, `ALTER DATABASE %I ALLOW_CONNECTIONS false IS_TEMPLATE false`, n.owner)
		if err != nil {
			return failure(ctx, "close the database", err)
		}
	}
	err = ddl(ctx, s.conn, `DROP DATABASE IF EXISTS %I WITH (FORCE)`, n.owner)
	if state, _ := sqlState(err); in(insufficientPrivilege, state) && ctx.Err() == nil {
		// The database is the administrator's to drop, but who is no superuser may not end the sessions of
		// others: a superuser's, or the server's own autovacuum, which is soon done.
		return &provider.Error{Code: provider.ErrConflict, Retryable: true, Cause: err,
			Message: "Could not drop the database: a session in it is not the PostgreSQL administrator's to end."}
	}
	return failure(ctx, "drop the database", err)
}

// dropRoles drops the login roles and the owner role, all or none.
func (d *driver) dropRoles(ctx context.Context, s *session, r *provider.Request, n names, have inventory) error {
	roles := have.logins
	if have.owner {
		roles = append(roles, n.owner)
	}
	if len(roles) == 0 {
		return nil
	}
	err := r.Report(ctx, provider.Progress{Percent: 80, Step: "drop_roles", Message: "Dropping the roles."})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.endSessions(ctx, have.logins); err != nil {
		return err
	}
	databases, err := s.databasesWith(ctx, roles)
	if err != nil {
		return err
	}
	for _, database := range databases {
		err := d.inDatabase(ctx, database, func(tx pgx.Tx) error { return dropOwned(ctx, tx, roles) })
		if err != nil {
			return failure(ctx, "drop what the roles own elsewhere", err)
		}
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error { return dropRoles(ctx, tx, roles) })
	return failure(ctx, "drop the roles", err)
}

func dropRoles(ctx context.Context, tx pgx.Tx, roles []string) error {
	// Grants on databases and the like, which are no database's own.
	if err := dropOwned(ctx, tx, roles); err != nil {
		return err
	}
	for _, role := range roles {
		if err := ddl(ctx, tx, `DROP ROLE %I`, role); err != nil {
			return err
		}
	}
	return nil
}
