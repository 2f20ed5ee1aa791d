// Whether the gateway is ready, and what is in force: its version and the revisions of its configuration.
import type { Health, Readiness } from '../../data/api.ts'
import { findProblems } from '../../data/attention.ts'
import { shortenRevision } from '../../data/format.ts'

export function GatewayCard({ readiness, health }: { readiness: Readiness | undefined; health: Health | undefined }) {
  if (readiness?.ready === undefined) return null
  const problems = findProblems({ readiness }, 0)
  return (
    <section class="card gateway-card" aria-label="Gateway">
      <p class="gateway-state">
        <span class={`dot ${readiness.ready ? (problems.length > 0 ? 'warn' : 'good') : 'bad'}`} />
        <b>{readiness.ready ? 'The gateway is ready' : 'The gateway is not ready'}</b>
        {problems.map(({ id, title, detail }) => (
          <span key={id} class="hint">
            {title}. {detail}
          </span>
        ))}
      </p>
      <dl class="revisions">
        <Revision name="Version" value={health?.version} />
        <Revision name="Configuration" value={readiness.config_revision} />
        <Revision name="Features" value={readiness.matrix_revision} />
        <Revision name="Keys" value={readiness.keys_revision} />
      </dl>
    </section>
  )
}

function Revision({ name, value }: { name: string; value: string | undefined }) {
  if (value === undefined) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd class="revision" title={value}>
        {shortenRevision(value)}
      </dd>
    </div>
  )
}
