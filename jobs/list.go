package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/provisiond/provisiond/jobs/catalog"
)

// JobFilter picks jobs; zero fields filter nothing.
type JobFilter struct {
	State      State
	Operation  Operation
	InstanceID string
	Service    string
	Labels     map[string]string
}

// InstanceFilter picks instances; zero fields filter nothing.
type InstanceFilter struct {
	State   InstanceState
	Service string
	Name    string
	Labels  map[string]string
}

// listKey is what a cursor is bound to.
type listKey struct {
	List, Tenant string
	Filter       any
}

// ListJobs lists the tenant's jobs, newest first. Error: InvalidCursor.
func (s *Service) ListJobs(ctx context.Context, c Caller, f JobFilter, p PageRequest) (Page[Job], error) {
	key := listKey{"jobs", c.TenantID, f}
	after, err := decodeCursor(key, p.Cursor)
	if err != nil {
		return Page[Job]{}, err
	}
	rows, err := s.pool.Query(ctx, jobSelect+`
		WHERE j.tenant_id = $1 AND ($2 = '' OR j.id < $2) AND ($3 = '' OR j.state = $3) AND ($4 = '' OR j.operation = $4)
		  AND ($5 = '' OR j.instance_id = $5) AND ($6 = '' OR j.service = $6) AND j.labels @> $7
		ORDER BY j.id DESC LIMIT $8`,
		c.TenantID, after, f.State, f.Operation, f.InstanceID, f.Service, labelsOf(f.Labels), p.size()+1)
	if err != nil {
		return Page[Job]{}, fmt.Errorf("list jobs: %w", err)
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Job, error) { return scanJob(row) })
	if err != nil {
		return Page[Job]{}, fmt.Errorf("list jobs: %w", err)
	}
	return pageOf(jobs, p.size(), key, func(j *Job) string { return j.ID })
}

// labelsOf is the labels as a JSON object, {} for none.
func labelsOf(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// ListEvents lists the history of a job, oldest first. Errors: NotFound, InvalidCursor.
func (s *Service) ListEvents(ctx context.Context, c Caller, jobID string, p PageRequest) (Page[Event], error) {
	key := listKey{"events", c.TenantID, jobID}
	cursor, err := decodeCursor(key, p.Cursor)
	if err != nil {
		return Page[Event]{}, err
	}
	var after int64
	if cursor != "" {
		if after, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return Page[Event]{}, &Error{Code: InvalidCursor, Detail: "The cursor is not one of ours."}
		}
	}
	if _, err := s.Get(ctx, c, jobID); err != nil {
		return Page[Event]{}, err
	}
	rows, err := s.pool.Query(ctx, `
		SELECT seq, id, type, coalesce(job_id, ''), coalesce(instance_id, ''), actor, at, data FROM event
		WHERE tenant_id = $1 AND job_id = $2 AND seq > $3 ORDER BY seq LIMIT $4`, c.TenantID, jobID, after, p.size()+1)
	if err != nil {
		return Page[Event]{}, fmt.Errorf("list events: %w", err)
	}
	type sequenced struct {
		Seq int64
		Event
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e sequenced, err error) {
		err = row.Scan(&e.Seq, &e.ID, &e.Type, &e.JobID, &e.InstanceID, &e.Actor, &e.At, &e.Data)
		return e, err
	})
	if err != nil {
		return Page[Event]{}, fmt.Errorf("list events: %w", err)
	}
	page, err := pageOf(events, p.size(), key, func(e *sequenced) string { return strconv.FormatInt(e.Seq, 10) })
	out := Page[Event]{Items: make([]Event, len(page.Items)), NextCursor: page.NextCursor}
	for i := range page.Items {
		out.Items[i] = page.Items[i].Event
	}
	return out, err
}

const instanceSelect = `
	SELECT id, coalesce(name, ''), service, plan, state, parameters, labels, endpoint, job_id, plan_version, expires_at, protected, usable,
	       update_repeatable, checked_at, findings, created_at, updated_at
	FROM instance `

func scanInstance(row pgx.Row) (Instance, error) {
	var in Instance
	var parameters, labels, endpoint, findings []byte
	err := row.Scan(&in.ID, &in.Name, &in.Service, &in.Plan, &in.State, &parameters, &labels, &endpoint, &in.JobID, &in.PlanVersion, &in.ExpiresAt,
		&in.Protected, &in.Usable, &in.UpdateRepeatable, &in.CheckedAt, &findings, &in.CreatedAt, &in.UpdatedAt)
	if err != nil {
		return in, err
	}
	err = errors.Join(json.Unmarshal(parameters, &in.Parameters), json.Unmarshal(labels, &in.Labels),
		json.Unmarshal(findings, &in.Findings))
	if endpoint != nil {
		err = errors.Join(err, json.Unmarshal(endpoint, &in.Endpoint))
	}
	return in, err
}

// ListInstances lists the tenant's instances, newest first, deleted ones included. Error: InvalidCursor.
func (s *Service) ListInstances(ctx context.Context, c Caller, f InstanceFilter, p PageRequest) (Page[Instance], error) {
	key := listKey{"instances", c.TenantID, f}
	after, err := decodeCursor(key, p.Cursor)
	if err != nil {
		return Page[Instance]{}, err
	}
	rows, err := s.pool.Query(ctx, instanceSelect+`
		WHERE tenant_id = $1 AND ($2 = '' OR id < $2) AND ($3 = '' OR state = $3) AND ($4 = '' OR service = $4)
		  AND ($5 = '' OR name = $5) AND labels @> $6
		ORDER BY id DESC LIMIT $7`,
		c.TenantID, after, f.State, f.Service, f.Name, labelsOf(f.Labels), p.size()+1)
	if err != nil {
		return Page[Instance]{}, fmt.Errorf("list instances: %w", err)
	}
	instances, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Instance, error) { return scanInstance(row) })
	if err != nil {
		return Page[Instance]{}, fmt.Errorf("list instances: %w", err)
	}
	return pageOf(instances, p.size(), key, func(in *Instance) string { return in.ID })
}

// GetInstance reads an instance. Error: NotFound.
func (s *Service) GetInstance(ctx context.Context, c Caller, instanceID string) (Instance, error) {
	in, err := scanInstance(s.pool.QueryRow(ctx, instanceSelect+`WHERE tenant_id = $1 AND id = $2`, c.TenantID, instanceID))
	if errors.Is(err, pgx.ErrNoRows) {
		return Instance{}, &Error{Code: NotFound, Detail: "there is no such instance"}
	}
	return in, wrap("get instance", err)
}

// ListServices pages through the catalog, by ID. Error: InvalidCursor.
func (s *Service) ListServices(p PageRequest) (Page[catalog.Service], error) {
	key := listKey{List: "services", Filter: s.Catalog().ETag}
	after, err := decodeCursor(key, p.Cursor)
	if err != nil {
		return Page[catalog.Service]{}, err
	}
	services := s.Catalog().Services
	for len(services) > 0 && services[0].ID <= after {
		services = services[1:]
	}
	return pageOf(services[:min(len(services), p.size()+1)], p.size(), key, func(v *catalog.Service) string { return v.ID })
}
