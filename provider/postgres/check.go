package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// Check implements provider.Driver. It looks at what the driver makes, and at who else was let in. Schemas,
// tables, settings and further extensions are the users' own, and so is whom they let use these.
// It connects to the database only where that should have extensions.
func (d *driver) Check(ctx context.Context, r *provider.Request) ([]provider.Finding, error) {
	n, err := namesOf(r)
	if err != nil {
		return nil, err
	}
	p, err := planOf(r.Settings, r.Parameters)
	if err != nil {
		return nil, err
	}
	logins, err := n.logins(r.Bindings)
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
	states, err := s.loginStates(ctx, n, logins)
	if err != nil {
		return nil, err
	}
	found := append(have.check(n, p), checkLogins(n, p, logins, states)...)
	memberships, err := s.checkMemberships(ctx, n)
	if err != nil {
		return nil, err
	}
	found = append(found, memberships...)
	if have.database {
		grants, err := s.checkGrants(ctx, n)
		if err != nil {
			return nil, err
		}
		found = append(found, grants...)
	}
	if !have.database || have.broken || have.closed || have.locked {
		return found, nil // an administrator who is no superuser is locked out, too
	}
	lacking, err := d.lackingExtensions(ctx, n, p)
	for _, name := range lacking {
		found = append(found, missing(provider.Object{Kind: "extension", Name: name}))
	}
	return found, err
}

// check looks at the owner role and the database.
func (i inventory) check(n names, p plan) []provider.Finding {
	var found []provider.Finding
	for _, o := range i.foreign {
		detail := fmt.Sprintf("A %s of the instance's name exists and is not the instance's.", o.Kind)
		if o == n.database() {
			detail = fmt.Sprintf("A database of the instance's name exists whose owner is %s.", i.foreignOwner)
		}
		found = append(found, provider.Finding{Kind: provider.Foreign, Object: o, Detail: detail})
	}
	known := append(i.objects(n), i.foreign...)
	for _, o := range []provider.Object{n.database(), n.ownerRole()} {
		if !slices.Contains(known, o) {
			found = append(found, missing(o))
		}
	}
	if i.database {
		found = append(found, i.checkDatabase(n, p)...)
	}
	if i.owner && len(i.rights) > 0 {
		found = append(found, changedRights(n.ownerRole(), i.rights))
	}
	return found
}

func (i inventory) checkDatabase(n names, p plan) []provider.Finding {
	if i.broken {
		return []provider.Finding{changed(n.database(), "A drop of the database was cut off; it can only be dropped again.")}
	}
	var found []provider.Finding
	if i.closed {
		found = append(found, changed(n.database(), "The database takes no connections."))
	}
	if i.limit != p.limit() {
		found = append(found, changedLimit(n.database(), i.limit, p))
	}
	if i.locked {
		found = append(found, changed(n.database(), "The owner role may not connect to the database."))
	}
	if i.template {
		found = append(found, changed(n.database(), "The database is a template: other roles may copy it."))
	}
	return found
}

func missing(o provider.Object) provider.Finding {
	return provider.Finding{Kind: provider.Missing, Object: o, Detail: fmt.Sprintf("The %s does not exist.", o.Kind)}
}

func changed(o provider.Object, detail string) provider.Finding {
	return provider.Finding{Kind: provider.Changed, Object: o, Detail: detail}
}

func changedLimit(o provider.Object, limit string, p plan) provider.Finding {
	return changed(o, fmt.Sprintf("The connection limit is %s and should be %s.", limitText(limit), limitText(p.limit())))
}

func changedRights(o provider.Object, rights []string) provider.Finding {
	return changed(o, fmt.Sprintf("The role has rights that it should not have: %s.", strings.Join(rights, ", ")))
}

// limitText writes a connection limit for people.
func limitText(limit string) string {
	if limit == "-1" {
		return "none"
	}
	return limit
}

// lackingExtensions lists those that the database should have and does not.
func (d *driver) lackingExtensions(ctx context.Context, n names, p plan) ([]string, error) {
	if len(p.extensions) == 0 {
		return nil, nil
	}
	s, err := d.openInstance(ctx, n)
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// Compared here and not there, where an operator of the tenant's making could be the better match.
	rows, _ := s.conn.Query(qctx, `SELECT extname::pg_catalog.text FROM pg_catalog.pg_extension`)
	have, err := pgx.CollectRows(rows, pgx.RowTo[string]) // tells of Query's error, too
	if err != nil {
		return nil, failure(ctx, "look for the extensions", err)
	}
	lacking := without(p.extensions, have)
	slices.Sort(lacking)
	return slices.Compact(lacking), nil
}
