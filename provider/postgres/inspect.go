package postgres

import (
	"context"

	"github.com/provisiond/provisiond/provider"
)

// inventory is what exists of an instance.
type inventory struct {
	owner    bool
	database bool
	// broken is true when a DROP DATABASE was cut off: the database can only be dropped again.
	broken bool
	// closed is true when the database takes no connections.
	closed bool
	// locked is true when the owner role may not connect to the database.
	locked bool
	// template is true when the database may be copied, and not dropped.
	template bool
	// limit is the database's connection limit, as PostgreSQL writes it.
	limit string
	// rights are the owner role's.
	rights []string
	logins []string
	// foreign is what has the instance's name and is someone else's. The other fields leave that out.
	foreign []provider.Object
	// foreignOwner is the owner of a database among that.
	foreignOwner string
}

// mine fails with ErrNotMine when something of the instance's name is someone else's.
func (i inventory) mine() error {
	if len(i.foreign) == 0 {
		return nil
	}
	return notMine(i.foreign[0].Kind, i.foreign[0].Name)
}

// usable fails when there is no database to work with.
func (i inventory) usable() error {
	if err := i.mine(); err != nil {
		return err
	}
	if !i.database || i.broken {
		return rejected("The instance's database does not exist.", nil)
	}
	return nil
}

// inspectSQL gives NULL for what is not there, and false for what is someone else's. datconnlimit = -2
// is how PostgreSQL marks a broken database.
const inspectSQL = `
SELECT role.mine,
       CASE WHEN db.oid IS NOT NULL THEN coalesce(db.datdba = role.oid, false) END,
       coalesce(db.datconnlimit = -2, false),
       coalesce(NOT db.datallowconn, false),
       coalesce(NOT has_database_privilege(role.oid, db.oid, 'CONNECT'), false),
       coalesce(db.datistemplate, false),
       coalesce(db.datconnlimit::text, ''),
       coalesce(pg_get_userbyid(db.datdba)::text, ''),
       role.rights,
       ARRAY (SELECT rolname::text
              FROM pg_roles WHERE starts_with(shobj_description(oid, 'pg_authid'), $2 || $3) ORDER BY 1)
FROM (SELECT) one
     LEFT JOIN (SELECT oid, coalesce(shobj_description(oid, 'pg_authid') = $2, false) AS mine,
                ` + rightsSQL + ` AS rights
                FROM pg_roles WHERE rolname = $1) role ON true
     LEFT JOIN (SELECT oid, datdba, datconnlimit, datallowconn, datistemplate
                FROM pg_database WHERE datname = $1) db ON true`

// rightsSQL lists what of CREATE ROLE's rights a role of pg_roles has.
const rightsSQL = `array_remove(ARRAY[
	CASE WHEN rolcanlogin THEN 'LOGIN' END, CASE WHEN rolsuper THEN 'SUPERUSER' END,
	CASE WHEN rolcreatedb THEN 'CREATEDB' END, CASE WHEN rolcreaterole THEN 'CREATEROLE' END,
	CASE WHEN rolreplication THEN 'REPLICATION' END, CASE WHEN rolbypassrls THEN 'BYPASSRLS' END], NULL)`

// inspect finds what exists of the instance.
func (s *session) inspect(ctx context.Context, n names) (inventory, error) {
	var i inventory
	var owner, database *bool
	var databaseOwner string
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.conn.QueryRow(qctx, inspectSQL, n.owner, n.marker, bindingMarker).
		Scan(&owner, &database, &i.broken, &i.closed, &i.locked, &i.template, &i.limit, &databaseOwner, &i.rights, &i.logins)
	if err != nil {
		return inventory{}, failure(ctx, "look for the database", err)
	}
	i.owner = owner != nil && *owner
	i.database = i.owner && database != nil && *database
	if owner != nil && !i.owner {
		i.foreign = append(i.foreign, n.ownerRole())
	}
	if database != nil && !i.database {
		i.foreign, i.foreignOwner = append(i.foreign, n.database()), databaseOwner
	}
	return i, nil
}

// inspectLogin reports whether a binding's role exists. It fails with ErrNotMine when its name is taken.
func (s *session) inspectLogin(ctx context.Context, l login) (bool, error) {
	var mine *bool
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.conn.QueryRow(qctx, `SELECT (SELECT coalesce(shobj_description(oid, 'pg_authid') = $2, false)
		FROM pg_roles WHERE rolname = $1)`, l.name, l.marker).Scan(&mine)
	if err != nil {
		return false, failure(ctx, "look for the login role", err)
	}
	if mine != nil && !*mine {
		return false, notMine("role", l.name)
	}
	return mine != nil, nil
}

// Find implements provider.Driver.
func (d *driver) Find(ctx context.Context, r *provider.Request) ([]provider.Object, error) {
	n, err := namesOf(r)
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
	return have.objects(n), nil
}

func (i inventory) objects(n names) []provider.Object {
	var objects []provider.Object
	if i.database {
		objects = append(objects, n.database())
	}
	if i.owner {
		objects = append(objects, n.ownerRole())
	}
	for _, name := range i.logins {
		objects = append(objects, role(name))
	}
	return objects
}
