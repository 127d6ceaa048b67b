package postgres

import (
	"context"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// marker is the comment on each role of ours.
var marker = regexp.MustCompile(`^` + instanceMarker + `(inst_[0-9a-z]{26})(` + bindingMarker + `bind_[0-9a-z]{26})?$`)

// Names implements provider.Namer.
func (d *driver) Names(r *provider.Request) []provider.Object {
	n, err := namesOf(r)
	if err != nil {
		return nil
	}
	objects := []provider.Object{n.database(), n.ownerRole()}
	if l, err := n.login(r.BindingID); err == nil {
		objects = append(objects, role(l.name))
	}
	return objects
}

// listSQL gives the roles with a marker, and the databases that belong to them.
const listSQL = `
WITH marked AS (
	SELECT oid, rolname, shobj_description(oid, 'pg_authid') AS marker FROM pg_roles
	WHERE starts_with(shobj_description(oid, 'pg_authid'), $1))
SELECT 'database', datname::text, marker FROM pg_database JOIN marked ON marked.oid = datdba
UNION ALL
SELECT 'role', rolname::text, marker FROM marked
ORDER BY 3, 1, 2`

// List implements provider.Lister. A database has no marker of its own that proves anything; it goes by
// its owner's.
func (d *driver) List(ctx context.Context) ([]provider.Owned, error) {
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var owned []provider.Owned
	var o provider.Owned
	var comment string
	rows, _ := s.conn.Query(qctx, listSQL, instanceMarker)
	_, err = pgx.ForEachRow(rows, []any{&o.Kind, &o.Name, &comment}, func() error { // tells of Query's error, too
		if id := marker.FindStringSubmatch(comment); id != nil {
			o.InstanceID = id[1]
			owned = append(owned, o)
		}
		return nil
	})
	return owned, failure(ctx, "list what is provisiond's", err)
}
