package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"github.com/provisiond/provisiond/api"
	"github.com/provisiond/provisiond/jobs"
)

// polled is how many jobs are polled in turn.
const polled = 1000

func (s *stage) poll(ctx context.Context, o options) (ratio, error) {
	ids := make([]string, polled)
	for i := range ids {
		started, err := s.first.Start(ctx, s.caller, plainStart())
		if err != nil {
			return ratio{}, err
		}
		ids[i] = started.Job.ID
	}
	handler, err := handlerOf(s.second)
	if err != nil {
		return ratio{}, err
	}
	product, err := s.pollLoad(handler, ids)
	if err != nil {
		return ratio{}, err
	}
	base, err := s.pollLoad(plainHandler(s.pool), ids)
	if err != nil {
		return ratio{}, err
	}
	return compare(ctx, o, ratio{name: "poll", wanted: 0.6}, product, base)
}

// handlerOf is the API as it is served, log lines included.
func handlerOf(s *jobs.Service) (http.Handler, error) {
	//nolint:sloglint // not DiscardHandler: the lines are to be written, only not kept
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	return api.New(api.Config{Service: s, PublicURL: "http://localhost", Logger: logger})
}

// plainHandler is the least that can answer with a job.
func plainHandler(pool *pgxpool.Pool) http.Handler {
	type job struct {
		ID, Operation, Service, Plan, InstanceID, State string
		BindingID, Phase                                *string
		Progress, Error, Leftovers                      json.RawMessage
		Version                                         int64
		CreatedAt, UpdatedAt, DeadlineAt                time.Time
		FinishedAt                                      *time.Time
	}
	e := echo.New()
	e.GET("/v1/jobs/:job_id", func(c echo.Context) error {
		rows, err := pool.Query(c.Request().Context(), `
			SELECT id, operation, service, plan, instance_id, state, binding_id, phase, progress, error, leftovers,
			       version, created_at, updated_at, deadline_at, finished_at
			FROM job WHERE id = $1`, c.Param("job_id"))
		if err != nil {
			return err
		}
		j, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[job])
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, j)
	})
	return e
}

// pollLoad serves the handler and polls it, each client on a connection of its own.
func (s *stage) pollLoad(h http.Handler, ids []string) (load, error) {
	address, err := s.serve(h)
	if err != nil {
		return nil, err
	}
	pollers := make([]*poller, clients)
	next := make([]int, clients)
	for i := range pollers {
		if pollers[i], err = s.dial(address); err != nil {
			return nil, err
		}
		next[i] = i * len(ids) / clients
	}
	return func(_ context.Context, client int) error {
		next[client] = (next[client] + 1) % len(ids)
		return pollers[client].get("/v1/jobs/" + ids[next[client]])
	}, nil
}

func (s *stage) serve(h http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // takes no time
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go server.Serve(listener) //nolint:errcheck // ends with Close
	s.onClose(server.Close)
	return listener.Addr().String(), nil
}

// A poller is an HTTP client that costs next to nothing: it shares the CPUs with the server, so what it
// takes would draw every ratio towards 1.
type poller struct {
	conn  net.Conn
	in    *bufio.Reader
	token string
}

func (s *stage) dial(address string) (*poller, error) {
	conn, err := net.Dial("tcp", address) //nolint:noctx // it is ours and listens
	if err != nil {
		return nil, err
	}
	s.onClose(conn.Close)
	return &poller{conn, bufio.NewReader(conn), s.token}, nil
}

func (p *poller) get(path string) error {
	_, err := fmt.Fprintf(p.conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, p.token)
	if err != nil {
		return err
	}
	res, err := http.ReadResponse(p.in, nil)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, res.Status)
	}
	return res.Body.Close()
}
