package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// Provision implements provider.Driver.
func (d *driver) Provision(ctx context.Context, r *provider.Request) (provider.Endpoint, error) {
	n, err := namesOf(r)
	if err != nil {
		return nil, err
	}
	p, err := planOf(r.Settings, r.Parameters)
	if err != nil {
		return nil, err
	}
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	have, err := s.inspect(ctx, n)
	if err != nil {
		return nil, err
	}
	if err := have.mine(); err != nil {
		return nil, err
	}
	if !have.owner {
		if err := s.makeOwner(ctx, r, n); err != nil {
			return nil, err
		}
	}
	if !have.database {
		if err := s.makeDatabase(ctx, r, n, p); err != nil {
			return nil, err
		}
	}
	if err := s.configure(ctx, r, n, p); err != nil {
		return nil, err
	}
	if err := d.makeExtensions(ctx, r, n, p); err != nil {
		return nil, err
	}
	return d.endpoint(n), nil
}

func (d *driver) endpoint(n names) provider.Endpoint {
	return provider.Endpoint{"host": d.host, "port": d.portString(), "database": n.owner}
}

func (d *driver) portString() string { return strconv.Itoa(int(d.port)) }

// begin tells the user of a step, and then stores what is about to be made.
func begin(ctx context.Context, r *provider.Request, p provider.Progress) error {
	if err := r.Report(ctx, p); err != nil {
		return err
	}
	// Names are derived from the IDs, so nothing needs to be remembered. The step tells an operator
	// what the server may have been doing when a worker died.
	if err := r.Checkpoint(ctx, fmt.Appendf(nil, `{"step":%q}`, p.Step)); err != nil {
		return err
	}
	return ctx.Err()
}

// makeOwner makes the owner role with its marker. The administrator must be a member of it to give it
// a database, unless superuser.
func (s *session) makeOwner(ctx context.Context, r *provider.Request, n names) error {
	err := begin(ctx, r, provider.Progress{Percent: 5, Step: "create_role", Message: "Creating the owner role."})
	if err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if err := ddl(ctx, tx, `CREATE ROLE %I NOLOGIN`, n.owner); err != nil {
			return err
		}
		if err := ddl(ctx, tx, `COMMENT ON ROLE %I IS %L`, n.owner, n.marker); err != nil {
			return err
		}
		return ddl(ctx, tx, `GRANT %I TO CURRENT_USER`, n.owner)
	})
	return failure(ctx, "create the owner role", err)
}

// makeDatabase makes the database from template0, the only template that any locale goes with.
func (s *session) makeDatabase(ctx context.Context, r *provider.Request, n names, p plan) error {
	err := begin(ctx, r, provider.Progress{Percent: 20, Step: "create_database", Message: "Creating the database."})
	if err != nil {
		return err
	}
	command, args := `CREATE DATABASE %I OWNER %I TEMPLATE template0 ENCODING 'UTF8'`, []string{n.owner, n.owner}
	if p.locale != "" {
		command, args = command+` LOCALE %L`, append(args, p.locale)
	}
	err = ddl(ctx, s.conn, command, args...)
	if state, _ := sqlState(err); in(unknownLocale, state) && ctx.Err() == nil {
		return rejected("locale: the PostgreSQL server does not have it, or not for UTF8.", err)
	}
	return failure(ctx, "create the database", err)
}

// unknownLocale are the codes of CREATE DATABASE for a locale that does not exist (wrong object type)
// and for one of another encoding than UTF8 (invalid parameter value).
var unknownLocale = []string{"42809", "22023"}

// configure closes the database to other roles and sets its limit. Each command may be repeated.
func (s *session) configure(ctx context.Context, r *provider.Request, n names, p plan) error {
	err := begin(ctx, r, provider.Progress{Percent: 70, Step: "configure", Message: "Setting access and limits."})
	if err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error { return setAccess(ctx, tx, n, p) })
	return failure(ctx, "configure the database", err)
}

func setAccess(ctx context.Context, tx pgx.Tx, n names, p plan) error {
	if err := ddl(ctx, tx, `REVOKE CONNECT, TEMPORARY ON DATABASE %I FROM PUBLIC`, n.owner); err != nil {
		return err
	}
	if err := ddl(ctx, tx, `ALTER DATABASE %I CONNECTION LIMIT %s`, n.owner, p.limit()); err != nil {
		return err
	}
	// For people. The owner can write this comment, so it proves nothing.
	return ddl(ctx, tx, `COMMENT ON DATABASE %I IS %L`, n.owner, n.marker)
}
