package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/provisiond/provisiond/jobs"
)

// reasonOption is of the commands that go into the events.
type reasonOption struct {
	Reason string `placeholder:"TEXT" help:"Why; it is kept in the events, and shown to the job's user where it ends a job."`
}

// withOperator gives do an operator on the database.
func (o databaseOptions) withOperator(ctx context.Context, p *process, do func(*jobs.Operator) error) error {
	return o.withSchema(ctx, func(pool *pgxpool.Pool) error {
		operator, err := jobs.NewOperator(pool, userName(), p.log)
		if err != nil {
			return err
		}
		return do(operator)
	})
}

// userName is who runs the command, as the system knows them.
func userName() string {
	current, err := user.Current()
	if err != nil {
		return fmt.Sprintf("uid %d", os.Getuid()) // a container without a user database
	}
	return current.Username
}

// table prints rows under a header. An empty cell is shown as a dash, so that columns can be counted.
type table struct{ out *tabwriter.Writer }

func newTable(w io.Writer, header ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(header...)
	return t
}

func (t table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = cmp.Or(strings.Join(strings.Fields(cell), " "), "-")
	}
	fmt.Fprintln(t.out, strings.Join(cells, "\t")) // flush tells of an error
}

func (t table) flush() error { return t.out.Flush() }

// maybe is a time that there may not be.
func maybe(t *time.Time) string {
	if t == nil {
		return ""
	}
	return utc(*t)
}
