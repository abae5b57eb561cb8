package broker

import (
	"context"
	"log/slog"

	"github.com/askbus/askbus/internal/ledger"
	"github.com/askbus/askbus/internal/quota"
	"github.com/askbus/askbus/pkg/ask"
)

// newQuotas makes the count of what tenants and sessions use; nil without a
// policy, and then nobody is limited.
func newQuotas(led *ledger.Ledger, opts *Options) *quota.Keeper {
	if opts.Quotas == nil {
		return nil
	}
	return quota.New(quota.Options{
		Policy:  opts.Quotas,
		Budget:  led.Share,
		Measure: led.Use,
		Failed: func(ctx context.Context, k ask.Key, err error) {
			opts.Logger.WarnContext(ctx, "cannot measure what a tenant uses; quotas count what passes here", slog.String("tenant", k.Tenant), slog.Any("error", err))
		},
	})
}
