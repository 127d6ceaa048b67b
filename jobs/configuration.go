package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/provisiond/provisiond/jobs/catalog"
	"github.com/provisiond/provisiond/provider"
)

// configuration is what says where the instances of a service are.
type configuration struct {
	Driver string
	Config json.RawMessage
}

func configurationOf(service *catalog.Service) configuration {
	return configuration{service.DriverName, service.Config}
}

func configPlace(tenantID, instanceID string) place {
	return place{tenantID, "instance", instanceID, "config_digest"}
}

// sealConfig seals a digest of the configuration that this worker works on the job's instance with. It may hold
// secrets, so no bare hash is kept. Nil where the worker's catalog lacks the service.
func (s *Service) sealConfig(j *jobRow) ([]byte, error) {
	service, ok := s.Catalog().Service(j.Service)
	if !ok || service.DriverName != j.driver {
		return nil, nil
	}
	return s.cfg.Sealer.sealDigest(configPlace(j.tenantID, j.InstanceID), configurationOf(service))
}

// noteConfig notes that the instance was found where the configuration points now.
func (s *Service) noteConfig(ctx context.Context, w *write, j *jobRow) error {
	digest, err := s.sealConfig(j)
	if err != nil || digest == nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, `UPDATE instance SET config_digest = $2 WHERE id = $1`, j.InstanceID, digest); err != nil {
		return fmt.Errorf("note configuration: %w", err)
	}
	return nil
}

// foundBy reports whether the success of a job shows that the instance is where the worker has looked for it.
func foundBy(op Operation, out outcome) bool {
	switch op {
	case OpProvision, OpUpdate, OpBind, OpRotate:
		return true
	case OpCheck:
		return !slices.ContainsFunc(out.findings, func(f provider.Finding) bool { return f.Kind == provider.Missing })
	case OpDeprovision, OpUnbind: // nothing there is success too
	}
	return false
}
