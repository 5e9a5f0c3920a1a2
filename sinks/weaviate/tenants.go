package weaviate

import (
	"context"
	"slices"
	"strings"

	"github.com/weaviate/weaviate/entities/models"

	"github.com/kbsync/kbsync/connector"
)

func (s *Sink) tenantNames(ctx context.Context, class string) ([]string, error) {
	list, err := s.schema.TenantsGetter().WithClassName(class).Do(ctx)
	if err != nil {
		return nil, schemaError(ctx, err)
	}
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names, nil
}

// tenantPresent says whether the configured tenant, if any, is in a class.
func (s *Sink) tenantPresent(ctx context.Context, c *models.Class) (bool, error) {
	if s.config.Tenant == "" || c.MultiTenancyConfig == nil || !c.MultiTenancyConfig.Enabled {
		return true, nil
	}
	names, err := s.tenantNames(ctx, c.Class)
	return slices.Contains(names, s.config.Tenant), err
}

func (s *Sink) makeTenant(ctx context.Context, class string) error {
	if s.config.Tenant == "" {
		return nil
	}
	return schemaError(ctx, s.schema.TenantsCreator().WithClassName(class).WithTenants(models.Tenant{Name: s.config.Tenant}).Do(ctx))
}

// dropTenant removes the tenant's part; gone says that nobody's is left, so that the class may go.
func (s *Sink) dropTenant(ctx context.Context, class string) (gone bool, err error) {
	if s.config.Tenant == "" {
		return true, nil
	}
	err = schemaError(ctx, s.schema.TenantsDeleter().WithClassName(class).WithTenants(s.config.Tenant).Do(ctx))
	if err != nil {
		return false, err
	}
	left, err := s.tenantNames(ctx, class)
	return len(left) == 0, err
}

// tenantsFollow checks that no other tenant would lose its live generation: the alias is common to all.
func (s *Sink) tenantsFollow(ctx context.Context, class string) error {
	if s.config.Tenant == "" {
		return nil
	}
	live, err := s.alias(ctx)
	if err != nil || live == "" || live == class {
		return err
	}
	if there, err := s.find(ctx, live); err != nil || there == nil {
		return err
	}
	old, err := s.tenantNames(ctx, live)
	if err != nil {
		return err
	}
	fresh, err := s.tenantNames(ctx, class)
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(t string) bool { return slices.Contains(fresh, t) })
	if len(old) == 0 {
		return nil
	}
	return connector.Errorf(connector.ClassConflict, "the alias %s is common to all tenants, and %s are not in the new generation yet: sync them first, then promote", s.config.Collection, strings.Join(old, ", "))
}
