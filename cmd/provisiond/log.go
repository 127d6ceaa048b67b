package main

import (
	"io"
	"log/slog"
	"strings"
)

// logOptions say how to log. Logs go to standard error, what a command answers to standard output.
type logOptions struct {
	LogFormat string `default:"text" choices:"text,json" help:"text or json."`
	LogLevel  string `default:"info" choices:"debug,info,warn,error" help:"debug, info, warn or error."`
}

func (o logOptions) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.LogLevel)) // the choices are slog's own words
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	if o.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// secretWords in an attribute's name mean that its value is a secret.
var secretWords = []string{
	"authorization", "cookie", "credential", "database_url", "admin_url", "dsn",
	"keyset", "api_key", "password", "passwd", "secret", "token",
}

// redact is the last line of defence: the code that logs must not log a secret in the first place.
func redact(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(strings.ReplaceAll(a.Key, "-", "_"))
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return slog.String(a.Key, "(redacted)")
		}
	}
	return a
}
