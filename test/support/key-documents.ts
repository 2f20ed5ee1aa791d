// An answer of `/_admin/keys` with each kind of key and limit, for tests of the dashboard.

import type { KeysAnswer } from '../../shared/admin-answers.ts'

/** The times are those of a gateway at this time. */
export function describeKeys(nowMs: number): KeysAnswer {
  const at = (ms: number) => new Date(nowMs + ms).toISOString().replace('Z', '000+00:00')
  const own = { group: null, models: null, limits: {}, usage: {}, expires_at: null, enabled: true, last_used_at: null }
  const day = 86_400_000
  return {
    keys_revision: `sha256:${'0123456789abcdef'.repeat(4)}`,
    currency: 'USD',
    data: [
      { name: 'default', origin: 'settings', ...own, state: 'active', metadata: {} },
      {
        ...own,
        name: 'ci',
        origin: 'file',
        group: 'team-a',
        models: ['demo/*'],
        limits: { requests_per_minute: 60 },
        usage: { requests_per_minute: 14 },
        expires_at: at(40 * day),
        state: 'active',
        last_used_at: at(-5_000),
        metadata: { owner: 'build' }
      },
      {
        ...own,
        name: 'nightly-evaluation',
        origin: 'file',
        group: 'team-a',
        models: ['openai/gpt-5', 'demo/chat', 'demo/embeddings'],
        limits: { requests_per_minute: 120, tokens_per_minute: 200_000, concurrent_requests: 8 },
        usage: { requests_per_minute: 103, tokens_per_minute: 200_000, concurrent_requests: 3 },
        state: 'limited',
        last_used_at: at(-400),
        metadata: {}
      },
      {
        ...own,
        name: 'intern',
        origin: 'file',
        limits: { budget: { amount: 20, period: 'day' } },
        usage: { budget: { cost: 20.0314, period_ends_at: at(day / 2) } },
        state: 'over_budget',
        last_used_at: at(-3_600_000),
        metadata: { owner: 'Ada', ticket: 'OPS-1' }
      },
      {
        ...own,
        name: 'contractor',
        origin: 'file',
        limits: { concurrent_requests: 4, budget: { amount: 1500, period: 'total' } },
        usage: { concurrent_requests: 0, budget: { cost: 0.00421, period_ends_at: null } },
        expires_at: at(-3 * day),
        state: 'expired',
        last_used_at: at(-3 * day),
        metadata: {}
      },
      { ...own, name: 'old', origin: 'file', enabled: false, state: 'disabled', metadata: {} }
    ],
    groups: [
      {
        name: 'team-a',
        models: ['openai/*', 'demo/*'],
        limits: {
          requests_per_minute: 600,
          tokens_per_minute: 400_000,
          concurrent_requests: 40,
          budget: { amount: 500, period: 'month' }
        },
        usage: {
          requests_per_minute: 117,
          tokens_per_minute: 214_500,
          concurrent_requests: 3,
          budget: { cost: 412.5, period_ends_at: at(9 * day) }
        },
        keys: 2
      }
    ]
  }
}
