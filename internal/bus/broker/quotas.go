package broker

import (
	"context"
	"log/slog"

	"github.com/askbus/askbus/internal/bus/ledger"
	"github.com/askbus/askbus/internal/bus/quota"
	"github.com/askbus/askbus/pkg/ask"
)

// newQuotas returns the accounts of tenants and sessions; nil without a policy,
// which means no limits.
func newQuotas(led *ledger.Ledger, opts *Options) *quota.Keeper {
	if opts.Quotas == nil {
		return nil
	}
	return quota.New(quota.Options{
		Policy:  opts.Quotas,
		Budget:  led.Share,
		Files:   led.FileBudget,
		Measure: led.Use,
		Failed: func(ctx context.Context, k ask.Key, err error) {
			opts.Logger.WarnContext(ctx, "cannot measure a tenant's use; quotas count only this broker's requests", slog.String("tenant", k.Tenant), slog.Any("error", err))
		},
	})
}
