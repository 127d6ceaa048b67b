package postgres

import (
	"net"
	"net/url"
	"strconv"
)

// connectionURI builds a URI that libpq and pgx read back to the same parts, whatever is in them.
func connectionURI(user, password, host string, port uint16, database, sslmode string) string {
	u := url.URL{
		Scheme: "postgresql",
		User:   url.UserPassword(user, password),
		Host:   net.JoinHostPort(host, strconv.Itoa(int(port))),
		Path:   "/" + database,
		// A slash within the name must not read as one of the path's.
		RawPath:  "/" + url.PathEscape(database),
		RawQuery: url.Values{"sslmode": {sslmode}}.Encode(),
	}
	return u.String()
}
