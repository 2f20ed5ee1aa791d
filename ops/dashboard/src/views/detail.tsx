// One record in a dialog: what was measured, the route that was planned, its content, and what can be done with it. Content is loaded only
// when it is asked for, because every reading of content is audited.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { writeAddress } from '../data/address.ts'
import type { TrafficSummary } from '../data/api.ts'
import { describeFailure, describeRecord, type Fact, listTimings } from '../data/describe-record.ts'
import { formatCount, formatDateTime, formatText, shortenRevision } from '../data/format.ts'
import { formatCost } from '../data/spend.ts'
import { Json } from '../parts/json.tsx'
import { Notice } from '../parts/notice.tsx'
import { Status } from '../parts/record-rows.tsx'
import { Timings } from '../parts/timings.tsx'
import { explainFailure, useSession } from '../session.ts'
import { Redact, Replay } from './actions.tsx'

export interface DetailProps {
  readonly record: TrafficSummary
  readonly onClose: () => void
  /** Open the records beside it in a list; absent where there is none. */
  readonly onNewer?: (() => void) | undefined
  readonly onOlder?: (() => void) | undefined
}

export function Detail({ record: given, onClose, onNewer, onOlder }: DetailProps) {
  const session = useSession()
  const dialog = useRef<HTMLDialogElement>(null)
  const [record, setRecord] = useState(given)
  const [version, setVersion] = useState(0)
  useEffect(() => dialog.current?.showModal(), [])

  async function reload(): Promise<void> {
    setVersion(count => count + 1)
    await session.api.find(record.id).then(setRecord, (error: unknown) => explainFailure(error, session))
  }

  const failure = describeFailure(record)
  const { input_tokens: input, output_tokens: output, total_tokens: total } = record
  const hasTokens = typeof input === 'number' || typeof output === 'number'
  return (
    <dialog class="detail" ref={dialog} onClose={onClose} aria-labelledby="detail-title">
      <div class="detail-head">
        <Status record={record} />
        <h3 id="detail-title">
          <span class="method">{formatText(record.method)}</span> {formatText(record.route)}
        </h3>
        <div class="detail-tools">
          {(onNewer !== undefined || onOlder !== undefined) && (
            <>
              <button type="button" disabled={onNewer === undefined} onClick={onNewer}>
                Newer
              </button>
              <button type="button" disabled={onOlder === undefined} onClick={onOlder}>
                Older
              </button>
            </>
          )}
          <button type="button" class="close" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </div>
      <p class="hint">
        {formatDateTime(record.created_at)} ·{' '}
        <a href={writeAddress('records', { id: record.id })}>address of this record</a>
      </p>
      {failure !== undefined && (
        <div class="failure">
          <p>
            <a
              href={writeAddress(
                'records',
                record.error_code ? { error_code: failure.code } : { error_type: failure.code }
              )}
            >
              {failure.code}
            </a>
            {failure.field !== undefined && (
              <>
                {' '}
                at <code>{formatText(failure.field)}</code>
              </>
            )}
          </p>
          {failure.message !== undefined && <p>{formatText(failure.message)}</p>}
          <p class="hint">{describePlace(record)}</p>
        </div>
      )}

      <Part title="Timings">
        <Timings timings={listTimings(record)} />
      </Part>
      {hasTokens && (
        <Part title="Tokens">
          <p>
            <b>{formatCount(input)}</b> input, <b>{formatCount(output)}</b> output, <b>{formatCount(total)}</b> in total
            {record.cost !== null && (
              <>
                , at a cost of <b>{formatCost(record)}</b>
              </>
            )}
          </p>
        </Part>
      )}
      {describeRecord(record).map(({ title, facts }) => (
        <Part key={title} title={title}>
          <dl class={title === 'Ids' ? 'facts ids' : 'facts'}>
            {facts.map(fact => (
              <FactRow key={fact[0]} fact={fact} />
            ))}
          </dl>
        </Part>
      ))}
      <Part title="Content">
        <Content
          key={`request ${version}`}
          label="request"
          isCaptured={record.has_request_body}
          load={async () => {
            const { request_headers, request_body } = await session.api.readRequest(record.id)
            return [
              ['Request headers', request_headers],
              ['Request body', request_body]
            ]
          }}
        />
        <Content
          key={`response ${version}`}
          label="response"
          isCaptured={record.has_response_body}
          load={async () => [['Response body', (await session.api.readResponse(record.id)).response_body]]}
        />
      </Part>
      <Part title="Actions">
        <Replay record={record} />
        <Redact record={record} onDone={reload} />
      </Part>
      <details>
        <summary>Metadata</summary>
        <Json label="Metadata" value={record.metadata} />
      </details>
    </dialog>
  )
}

/** Where it failed: behind the gateway, at it, or before a model was chosen. */
function describePlace({ profile_id, alias, upstream_status_code: status, api_key_name: key }: TrafficSummary): string {
  return [
    alias && `alias ${alias}`,
    profile_id ? `profile ${profile_id}` : 'not sent to a provider',
    status !== null && status !== undefined && `provider status ${status}`,
    key && `key ${key}`
  ]
    .filter(Boolean)
    .join(' · ')
}

function FactRow({ fact: [name, value, filter] }: { fact: Fact }) {
  const text = formatText(value)
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {filter === undefined ? (
          <span title={text}>{shortenRevision(text)}</span>
        ) : (
          <a href={writeAddress('records', { [filter]: text })} title="Records with the same value">
            {text}
          </a>
        )}
      </dd>
    </div>
  )
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="part" aria-label={title}>
      <h4>{title}</h4>
      {children}
    </section>
  )
}

interface ContentProps {
  readonly label: string
  readonly isCaptured: boolean
  readonly load: () => Promise<Array<[title: string, value: unknown]>>
}

function Content({ label, isCaptured, load }: ContentProps) {
  const session = useSession()
  const [state, setState] = useState<{ values?: Array<[string, unknown]>; message?: string; isLoading?: boolean }>({})
  async function show(): Promise<void> {
    setState({ isLoading: true })
    await load().then(
      values => setState({ values }),
      (error: unknown) => setState({ message: explainFailure(error, session) })
    )
  }
  if (state.values !== undefined) {
    return (
      <>
        {state.values.map(([title, value]) => (
          <div key={title}>
            <h5>{title}</h5>
            {value === null || value === undefined ? (
              <p class="hint">Not captured, or redacted.</p>
            ) : (
              <Json label={title} value={value} />
            )}
          </div>
        ))}
      </>
    )
  }
  return (
    <p>
      <button type="button" onClick={show} disabled={state.isLoading}>
        Show {label}
      </button>
      {!isCaptured && <span class="hint"> The body was not captured, or was redacted.</span>}
      {state.message !== undefined && <Notice kind="error">{state.message}</Notice>}
    </p>
  )
}
