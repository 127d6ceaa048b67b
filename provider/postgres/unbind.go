package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// Unbind implements provider.Driver. It goes by the login role's own marker, and so removes the role also
// where the instance is gone.
func (d *driver) Unbind(ctx context.Context, r *provider.Request) error {
	n, err := namesOf(r)
	if err != nil {
		return err
	}
	l, err := n.login(r.BindingID)
	if err != nil {
		return err
	}
	s, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	exists, err := s.inspectLogin(ctx, l)
	if err != nil || !exists {
		return err
	}
	have, err := s.inspect(ctx, n)
	if err != nil {
		return err
	}
	if err := s.lockOut(ctx, r, l); err != nil {
		return err
	}
	if have.owner {
		if err := d.handOver(ctx, s, n, l); err != nil {
			return err
		}
	}
	return s.dropLogin(ctx, r, l)
}

// lockOut ends the credentials, before anything that may have to wait.
func (s *session) lockOut(ctx context.Context, r *provider.Request, l login) error {
	err := r.Report(ctx, provider.Progress{Percent: 10, Step: "end_sessions", Message: "Ending the sessions."})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Without this a client that reconnects at once would outlive the last session's end.
	if err := ddl(ctx, s.conn, `ALTER ROLE %I NOLOGIN`, l.name); err != nil {
		return failure(ctx, "lock the login role", err)
	}
	return s.endSessions(ctx, []string{l.name})
}

// handOver gives the owner role what the login role owns, wherever that is: what a session made after SET
// ROLE NONE. Mostly there is nothing, and no database is connected to. Afterwards DROP OWNED finds only grants.
func (d *driver) handOver(ctx context.Context, s *session, n names, l login) error {
	logins := []string{l.name}
	databases, err := s.databasesWith(ctx, logins)
	if err != nil {
		return err
	}
	for _, database := range databases {
		err := d.inDatabase(ctx, database, func(tx pgx.Tx) error {
			if err := ddl(ctx, tx, `REASSIGN OWNED BY %I TO %I`, l.name, n.owner); err != nil {
				return err
			}
			return dropOwned(ctx, tx, logins)
		})
		if err != nil {
			return failure(ctx, "hand over what the login role owns", err)
		}
	}
	return nil
}

// dropLogin drops the role with its memberships and settings.
func (s *session) dropLogin(ctx context.Context, r *provider.Request, l login) error {
	err := r.Report(ctx, provider.Progress{Percent: 80, Step: "drop_login", Message: "Dropping the credentials."})
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error { return dropRoles(ctx, tx, []string{l.name}) })
	return failure(ctx, "drop the login role", err)
}
