package postgres

import (
	"context"

	"github.com/provisiond/provisiond/provider"
)

// makeExtensions makes the extensions, and those that they need, in the new database.
func (d *driver) makeExtensions(ctx context.Context, r *provider.Request, n names, p plan) error {
	if len(p.extensions) == 0 {
		return nil
	}
	err := begin(ctx, r, provider.Progress{Percent: 80, Step: "create_extensions", Message: "Creating the extensions."})
	if err != nil {
		return err
	}
	s, err := d.openInstance(ctx, n)
	if err != nil {
		return err
	}
	defer s.close(ctx)
	for _, name := range p.extensions {
		if err := makeExtension(ctx, s.conn, name); err != nil {
			return err
		}
	}
	return nil
}

// makeExtension makes an extension, unless the database has it.
func makeExtension(ctx context.Context, q querier, name string) error {
	err := ddl(ctx, q, `CREATE EXTENSION IF NOT EXISTS %I CASCADE`, name)
	if state, _ := sqlState(err); ctx.Err() == nil {
		switch {
		case in(unknownExtension, state):
			return rejected("extensions: the PostgreSQL server does not have one of them.", err)
		case in(noRoom, state):
			return rejected("extensions: the database has no schema named public to make one of them in, "+
				"or holds something of the same name as one's.", err)
		}
	}
	return failure(ctx, "create an extension", err)
}

var (
	// unknownExtension are the codes of CREATE EXTENSION for one that is not installed on the server:
	// feature not supported, undefined file.
	unknownExtension = []string{"0A000", "58P01"}
	// noRoom are those for what users did in their database: invalid schema name, duplicate object,
	// function, table and schema.
	noRoom = []string{"3F000", "42710", "42723", "42P07", "42P06"}
)
