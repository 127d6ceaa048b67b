package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// loginState is a login role as it is.
type loginState struct {
	Name   string
	Marker string
	Rights []string
	// Expired is true when VALID UNTIL has passed. Until is what it says, empty where that is no time.
	Expired bool
	Until   string
	Limit   string
	// Member is true when it is a member of the owner role.
	Member bool
	// Roles are those that its sessions work as from their start, by the settings of the role and of the
	// role in the database.
	Roles []string
}

const loginStatesSQL = `
SELECT rolname::text, coalesce(shobj_description(r.oid, 'pg_authid'), ''),
       ` + rightsSQL + `, coalesce(rolvaliduntil <= now(), false),
       CASE WHEN isfinite(rolvaliduntil)
            THEN to_char(rolvaliduntil AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') ELSE '' END,
       rolconnlimit::text,
       EXISTS (SELECT FROM pg_auth_members JOIN pg_roles o ON o.oid = roleid
               WHERE member = r.oid AND o.rolname = $1),
       ARRAY (SELECT substr(setting, length('role=') + 1)
              FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase, unnest(setconfig) setting
              WHERE setrole = r.oid AND (setdatabase = 0 OR datname = $1) AND starts_with(setting, 'role='))
FROM pg_roles r
WHERE rolname = ANY ($2::text[]) OR starts_with(shobj_description(r.oid, 'pg_authid'), $3)
ORDER BY 1`

// loginStates returns the roles that have the name of one of the logins, or the instance's marker.
func (s *session) loginStates(ctx context.Context, n names, logins []login) ([]loginState, error) {
	roles := make([]string, len(logins))
	for i, l := range logins {
		roles[i] = l.name
	}
	qctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	rows, _ := s.conn.Query(qctx, loginStatesSQL, n.owner, roles, n.marker+bindingMarker)
	states, err := pgx.CollectRows(rows, pgx.RowToStructByPos[loginState]) // tells of Query's error, too
	return states, failure(ctx, "look for the login roles", err)
}

// checkLogins compares the logins that should exist with those that do.
func checkLogins(n names, p plan, logins []login, states []loginState) []provider.Finding {
	var found []provider.Finding
	for _, l := range logins {
		i := slices.IndexFunc(states, func(state loginState) bool { return state.Name == l.name })
		if i < 0 {
			found = append(found, missing(role(l.name)))
			continue
		}
		found = append(found, states[i].check(n, p, l)...)
		states = slices.Delete(states, i, i+1)
	}
	for _, state := range states {
		found = append(found, provider.Finding{Kind: provider.Foreign, Object: role(state.Name),
			Detail: "The role carries the instance's marker and is none of its bindings'."})
	}
	return found
}

func (state *loginState) check(n names, p plan, l login) []provider.Finding {
	o := role(l.name)
	if state.Marker != l.marker {
		return []provider.Finding{{Kind: provider.Foreign, Object: o,
			Detail: "A role of the binding's name exists and is not the binding's."}}
	}
	var found []provider.Finding
	if !slices.Contains(state.Rights, "LOGIN") {
		found = append(found, changed(o, "The role may not log in."))
	}
	switch {
	case state.Expired:
		found = append(found, changed(o, "The role has expired: its VALID UNTIL has passed."))
	case state.Until != "":
		found = append(found, changed(o, fmt.Sprintf("The role may log in only until %s.", state.Until)))
	}
	if rights := without(state.Rights, []string{"LOGIN"}); len(rights) > 0 {
		found = append(found, changedRights(o, rights))
	}
	if state.Limit != p.limit() {
		found = append(found, changedLimit(o, state.Limit, p))
	}
	if !state.Member {
		found = append(found, changed(o, "The role is not a member of the owner role."))
	}
	if !slices.Equal(state.Roles, []string{n.owner}) {
		found = append(found, changed(o, "The role's sessions do not work as the owner role from their start."))
	}
	return found
}
