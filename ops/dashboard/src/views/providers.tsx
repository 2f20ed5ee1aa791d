// What the calls of all workers have seen of each provider. No provider is called for it.
import type { Api, Provider } from '../data/api.ts'
import { formatCount, formatDateTime, formatText } from '../data/format.ts'
import { FiguresTable } from '../parts/figures-table.tsx'
import { LoadedView } from '../parts/loaded-view.tsx'
import { usePolled } from '../polled.ts'

const REFRESH_MS = 5_000
const COLUMNS = [
  'Profile',
  'Kind',
  'Last success',
  'Failures since',
  'Last failures',
  'Models',
  'Certificate ends',
  'Client certificate ends'
]

const ask = (api: Api, signal: AbortSignal) => api.providers(signal)

export function Providers() {
  const loaded = usePolled(ask, REFRESH_MS)
  return (
    <section class="view" aria-labelledby="providers-title">
      <h2 id="providers-title">Providers</h2>
      <LoadedView loaded={loaded}>
        {providers => (
          <FiguresTable label="Providers" columns={COLUMNS} hasTexts>
            {providers.map(provider => (
              <Row key={provider.profile_id} provider={provider} />
            ))}
          </FiguresTable>
        )}
      </LoadedView>
    </section>
  )
}

function Row({ provider }: { provider: Provider }) {
  const { inventory, certificates } = provider
  return (
    <tr>
      <th scope="row">{provider.profile_id}</th>
      <td>{provider.provider_kind}</td>
      <td>{formatDateTime(provider.last_success_at)}</td>
      <td>{formatCount(provider.consecutive_failures)}</td>
      <td>
        {provider.last_failures.length === 0
          ? formatText(null)
          : provider.last_failures.map(failure => (
              <div key={failure.class}>
                {failure.class}, {formatDateTime(failure.at)}
              </div>
            ))}
      </td>
      <td>
        {inventory === null ? formatText(null) : `${inventory.state}, ${formatDateTime(inventory.discovered_at)}`}
      </td>
      <td>{formatDateTime(certificates.provider_expires_at)}</td>
      <td>{formatDateTime(certificates.client_expires_at)}</td>
    </tr>
  )
}
