package postgres

import (
	"context"
	"crypto/rand"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// Bind implements provider.Driver. A repeated call sets a new password.
func (d *driver) Bind(ctx context.Context, r *provider.Request) (provider.Credentials, error) {
	n, err := namesOf(r)
	if err != nil {
		return nil, err
	}
	l, err := n.login(r.BindingID)
	if err != nil {
		return nil, err
	}
	p, err := planOf(r.Settings, r.Parameters)
	if err != nil {
		return nil, err
	}
	password := rand.Text()
	if err := d.setLogin(ctx, r, n, l, p, password); err != nil {
		return nil, err
	}
	uri := connectionURI(l.name, password, d.host, d.port, n.owner, d.sslmode)
	if err := tryLogin(ctx, uri); err != nil {
		return nil, err
	}
	return provider.Credentials{
		"uri": uri, "host": d.host, "port": d.portString(), "database": n.owner,
		"username": l.name, "password": password, "sslmode": d.sslmode,
	}, nil
}

// setLogin makes the binding's role, or finds it, and sets its password.
func (d *driver) setLogin(ctx context.Context, r *provider.Request, n names, l login, p plan, password string) error {
	s, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	have, err := s.inspect(ctx, n)
	if err != nil {
		return err
	}
	if err := have.usable(); err != nil {
		return err
	}
	exists, err := s.inspectLogin(ctx, l)
	if err != nil {
		return err
	}
	err = begin(ctx, r, provider.Progress{Percent: 90, Step: "create_login", Message: "Creating the credentials."})
	if err != nil {
		return err
	}
	verifier, err := scramVerifier(password)
	if err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		if !exists {
			if err := makeLogin(ctx, tx, n, l); err != nil {
				return err
			}
		}
		// The database's own limit does not bind its owner for good: the owner may alter it.
		return ddl(ctx, tx, `ALTER ROLE %I LOGIN CONNECTION LIMIT %s PASSWORD %L`,
			l.name, p.limit(), verifier)
	})
	return failure(ctx, "create the credentials", err)
}

// makeLogin makes a role that works as the owner role from the start of each session.
func makeLogin(ctx context.Context, tx pgx.Tx, n names, l login) error {
	if err := ddl(ctx, tx, `CREATE ROLE %I`, l.name); err != nil {
		return err
	}
	if err := ddl(ctx, tx, `COMMENT ON ROLE %I IS %L`, l.name, l.marker); err != nil {
		return err
	}
	if err := ddl(ctx, tx, `GRANT %I TO %I`, n.owner, l.name); err != nil {
		return err
	}
	if err := ddl(ctx, tx, `ALTER ROLE %I SET role = %L`, l.name, n.owner); err != nil {
		return err
	}
	// An administrator who is no superuser may end a role's sessions only as its member.
	return ddl(ctx, tx, `GRANT %I TO CURRENT_USER`, l.name)
}

// tryLogin uses the credentials as the user will.
func tryLogin(ctx context.Context, uri string) error {
	const doing = "log in with the new credentials"
	cctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(cctx, uri)
	if err != nil {
		return failure(ctx, doing, err)
	}
	s := &session{conn}
	defer s.close(ctx)
	var one int
	return failure(ctx, doing, conn.QueryRow(cctx, `SELECT 1`).Scan(&one))
}
