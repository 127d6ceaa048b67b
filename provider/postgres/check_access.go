package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// A membership is one that neither the driver nor PostgreSQL itself made.
type membership struct {
	Role   string
	Member string
	// OwnRole and OwnMember tell which of the two is the instance's.
	OwnRole, OwnMember bool
}

// membershipsSQL leaves out the administrator, who is a member of each role that it made.
const membershipsSQL = `
WITH own AS (SELECT oid FROM pg_roles WHERE shobj_description(oid, 'pg_authid') = $1
             OR starts_with(shobj_description(oid, 'pg_authid'), $1 || $2))
SELECT DISTINCT r.rolname::text, m.rolname::text, r.oid IN (TABLE own), m.oid IN (TABLE own)
FROM pg_auth_members JOIN pg_roles r ON r.oid = roleid JOIN pg_roles m ON m.oid = member
WHERE (r.oid IN (TABLE own) <> (m.oid IN (TABLE own)) OR r.oid IN (TABLE own) AND admin_option)
      AND m.rolname <> current_user
ORDER BY 1, 2`

// checkMemberships looks for strangers that can work as one of the instance's roles, and the other way round.
func (s *session) checkMemberships(ctx context.Context, n names) ([]provider.Finding, error) {
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, _ := s.conn.Query(qctx, membershipsSQL, n.marker, bindingMarker)
	memberships, err := pgx.CollectRows(rows, pgx.RowToStructByPos[membership]) // tells of Query's error, too
	var found []provider.Finding
	for _, m := range memberships {
		found = append(found, m.finding())
	}
	return found, failure(ctx, "look for the members of the roles", err)
}

func (m membership) finding() provider.Finding {
	switch o := role(m.Member); {
	case !m.OwnMember:
		return provider.Finding{Kind: provider.Foreign, Object: o,
			Detail: fmt.Sprintf("The role is a member of %s and is none of the instance's.", m.Role)}
	case !m.OwnRole:
		return changed(o, fmt.Sprintf("The role is a member of %s.", m.Role))
	default:
		return changed(o, fmt.Sprintf("The role may make other roles members of %s.", m.Role))
	}
}

// grantsSQL gives an empty name for PUBLIC.
const grantsSQL = `
SELECT coalesce(r.rolname::text, ''), array_agg(DISTINCT privilege_type)
FROM pg_database d, aclexplode(coalesce(datacl, acldefault('d', datdba))) LEFT JOIN pg_roles r ON r.oid = grantee
WHERE datname = $1 AND (grantee = 0 OR r.rolname <> $1
      AND NOT coalesce(starts_with(shobj_description(r.oid, 'pg_authid'), $2), false))
GROUP BY 1
ORDER BY 1`

// checkGrants looks for strangers that have rights on the database itself.
func (s *session) checkGrants(ctx context.Context, n names) ([]provider.Finding, error) {
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var found []provider.Finding
	var grantee string
	var privileges []string
	rows, _ := s.conn.Query(qctx, grantsSQL, n.owner, n.marker+bindingMarker)
	_, err := pgx.ForEachRow(rows, []any{&grantee, &privileges}, func() error { // tells of Query's error, too
		who := "Every role of the server"
		if grantee != "" {
			who = "The role " + grantee
		}
		found = append(found, changed(n.database(), fmt.Sprintf("%s has %s on the database.", who, strings.Join(privileges, ", "))))
		return nil
	})
	return found, failure(ctx, "look for rights on the database", err)
}
