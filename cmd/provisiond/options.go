package main

import (
	"net/url"
	"strings"
	"time"
)

// replicaOptions are those of every process that serves or works. The defaults that differ between
// commands are set where the commands are listed, in cli.
type replicaOptions struct {
	oidcOptions

	Listen         string        `default:"127.0.0.1:8080" help:"Address of the API; of the health checks alone for a worker. Port 0 takes a free one."`
	AdminListen    string        `default:"${admin_listen}" help:"Address of metrics and profiles, without authentication; empty for none."`
	PublicURL      string        `name:"public-url" placeholder:"URL" help:"Where clients reach the API, as scheme and host; http:// and the listen address by default."`
	AllowedOrigins []string      `placeholder:"ORIGIN" help:"More web origins, such as https://app.example.com, from which MCP clients in browsers come; the public URL's always may."`
	AllowedHosts   []string      `placeholder:"HOST" help:"More host names by which MCP clients come, besides the public URL's and loopback; * for all."`
	MaxWait        time.Duration `default:"25s" min:"1s" help:"The longest that a poll may wait; keep it under the load balancer's idle timeout."`
	Lease          time.Duration `default:"15s" min:"1s" help:"How long a worker may be silent before its job passes on."`
	Sweep          time.Duration `default:"1s" min:"10ms" help:"How often to look for jobs whose worker is gone or whose time is up."`
	DrainDelay     time.Duration `default:"${drain_delay}" help:"How long to go on serving after a signal while not ready, so that load balancers notice."`
	ShutdownGrace  time.Duration `default:"30s" min:"1s" help:"How long requests and running jobs then have to end."`
	JobDeadline    time.Duration `default:"1h" min:"1s" help:"How long a job may work. A plan may set its own."`
	QuestionExpiry time.Duration `default:"24h" min:"1s" help:"How long a question stays open. A plan or a question may set its own."`
	Workers        int           `default:"100" min:"1" help:"How many jobs of each driver to run at once."`
}

func (o replicaOptions) check(env lookup, found *problems) {
	if o.Listen == "" {
		found.add("listen", "is required")
	}
	if o.Sweep > o.Lease {
		found.add("sweep", "must not be longer than --lease")
	}
	if o.PublicURL != "" && !isOrigin(o.PublicURL) {
		found.add("public-url", "must be an http or https URL without a path, such as https://provisiond.example.com")
	}
	for _, origin := range o.AllowedOrigins {
		if !isOrigin(origin) || strings.HasSuffix(origin, "/") {
			found.add("allowed-origins", "must be of origins, such as https://app.example.com")
			break
		}
	}
	o.oidcOptions.check(env, found)
}

func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// isOrigin tells whether a URL is one of a whole host: links, pages and their cookies begin at its root.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isHTTP(text) && (u.Path == "" || u.Path == "/") && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// startupOptions say how long to wait for what may start at the same time.
type startupOptions struct {
	StartupTimeout time.Duration `default:"60s" help:"How long to wait for the database at the start."`
}
