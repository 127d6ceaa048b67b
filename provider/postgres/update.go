package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/provider"
)

// Update implements provider.Driver. All of it is one transaction, so that what the server refuses
// changes nothing.
func (d *driver) Update(ctx context.Context, r *provider.Request) (provider.Endpoint, error) {
	n, err := namesOf(r)
	if err != nil {
		return nil, err
	}
	c, err := changeOf(r)
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
	if err := have.usable(); err != nil {
		return nil, beyondUpdate(err)
	}
	err = begin(ctx, r, provider.Progress{Percent: 10, Step: "update", Message: "Changing the database."})
	if err != nil {
		return nil, err
	}
	if len(c.added) > 0 {
		// Only now: a database without a free connection still gets a higher limit.
		if s, err = d.openInstance(ctx, n); err != nil {
			return nil, err
		}
		defer s.close(ctx)
	}
	err = s.inTx(ctx, func(tx pgx.Tx) error { return c.apply(ctx, tx, n, have.logins) })
	if err != nil {
		return nil, failure(ctx, "change the database", err)
	}
	return d.endpoint(n), nil
}

// beyondUpdate says of the refusal that the instance does not work, and that no update changes that.
func beyondUpdate(err error) error {
	if refusal, ok := errors.AsType[*provider.Error](err); ok {
		refusal.Unusable, refusal.NotRepeatable = true, true
	}
	return err
}

// A change is what an update does.
type change struct {
	to plan
	// added are the extensions that the instance did not have.
	added []string
}

// changeOf compares what the instance was with what it should be, and refuses what cannot be changed.
func changeOf(r *provider.Request) (change, error) {
	if r.Previous == nil {
		return change{}, rejected("The update does not say what the instance was.", nil)
	}
	from, err := planOf(r.Previous.Settings, r.Previous.Parameters)
	if err != nil {
		return change{}, err
	}
	to, err := planOf(r.Settings, r.Parameters)
	if err != nil {
		return change{}, err
	}
	var faults []error
	if to.locale != from.locale {
		faults = append(faults, errors.New("locale: cannot be changed"))
	}
	if !subset(from.extensions, to.extensions) {
		// Dropping one would drop the columns of its types.
		faults = append(faults, errors.New("extensions: must hold those that the database has, for none can be removed"))
	}
	if err := errors.Join(faults...); err != nil {
		return change{}, wrongParameters(err)
	}
	return change{to: to, added: without(to.extensions, from.extensions)}, nil
}

// without returns the names that are not among the others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// apply makes the change. Each command may be repeated. Sessions over a lower limit go on.
func (c change) apply(ctx context.Context, tx pgx.Tx, n names, logins []string) error {
	for _, name := range c.added {
		if err := makeExtension(ctx, tx, name); err != nil {
			return err
		}
	}
	for _, login := range logins {
		if err := ddl(ctx, tx, `ALTER ROLE %I CONNECTION LIMIT %s`, login, c.to.limit()); err != nil {
			return err
		}
	}
	return setAccess(ctx, tx, n, c.to)
}
