package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/provisiond/provisiond/provider"
)

// Limits on each outside call. The server gives up first, so that it tells why.
const (
	connectTimeout   = 10 * time.Second
	lockTimeout      = 10 * time.Second
	statementTimeout = 60 * time.Second
	callTimeout      = 75 * time.Second
	// cancelTimeout is how long a canceled call waits for the server to confirm that it stopped.
	cancelTimeout = 2 * time.Second
)

// driver implements provider.Driver, PlanChecker, Namer and Lister. It is immutable, and makes a connection
// for each call.
type driver struct {
	admin   *pgx.ConnConfig
	host    string
	port    uint16
	sslmode string
}

var sslmodes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// New is a [provider.Factory]. The package comment describes the configuration.
func New(config json.RawMessage) (provider.Driver, error) {
	var adminURL, host string
	var port int
	sslmode := "prefer"
	err := provider.DecodeFields(config, map[string]any{
		"admin_url": &adminURL, "public_host": &host, "public_port": &port, "sslmode": &sslmode,
	})
	errs := []error{err}
	if port < 0 || port > 65535 {
		errs = append(errs, errors.New("public_port: must be from 1 to 65535"))
	}
	if !slices.Contains(sslmodes, sslmode) {
		errs = append(errs, fmt.Errorf("sslmode: must be one of %s", strings.Join(sslmodes, ", ")))
	}
	d := &driver{host: host, port: uint16(port), sslmode: sslmode} //nolint:gosec // the range is checked above
	errs = append(errs, d.setAdmin(adminURL))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return d, nil
}

// setAdmin parses the administrator's URL and takes from it what of the public address is not given.
func (d *driver) setAdmin(url string) error {
	if url == "" {
		return errors.New("admin_url: is required")
	}
	admin, err := pgx.ParseConfig(url)
	if err != nil {
		// The parser's own error quotes the URL.
		return errors.New("admin_url: must be a PostgreSQL URL or keyword string")
	}
	if d.host == "" {
		if strings.HasPrefix(admin.Host, "/") {
			return errors.New("public_host: is required when admin_url names a Unix socket")
		}
		d.host = admin.Host
	}
	if d.port == 0 {
		d.port = admin.Port
	}
	admin.ConnectTimeout = connectTimeout
	admin.RuntimeParams["application_name"] = "provisiond"
	admin.RuntimeParams["lock_timeout"] = milliseconds(lockTimeout)
	admin.RuntimeParams["statement_timeout"] = milliseconds(statementTimeout)
	admin.BuildContextWatcherHandler = cancelOnServer
	d.admin = admin
	return nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// cancelOnServer ends a statement on the server when its context ends, and waits until the server says
// so. By default pgx returns first and cancels in the background: a CREATE DATABASE could still make
// its database after the job's clean-up had found none.
func cancelOnServer(conn *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: cancelTimeout}
}
