// Replay and redaction of one record. Both ask first: one costs tokens, the other cannot be undone.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { PAYLOAD_FIELDS, type PayloadField } from '../../../../shared/traffic/query.ts'
import type { RedactResult, ReplayResult, TrafficSummary } from '../data/api.ts'
import { Json } from '../parts/json.tsx'
import { Notice } from '../parts/notice.tsx'
import { explainFailure, useSession } from '../session.ts'

export function Replay({ record }: { record: TrafficSummary }) {
  const { api } = useSession()
  const action = useAction(() => api.replay(record.id))
  return (
    <Action
      action={action}
      name="Replay"
      question="Send this request again? It uses the gateway's own credentials and costs tokens."
    >
      {(result: ReplayResult) => (
        <>
          <Notice kind="info">
            Replayed with status {String(result.response.status_code)}.
            {result.request.redacted && ' What is masked in the record was sent masked.'}
          </Notice>
          <Json label="Response of the replay" value={result.response.body} />
        </>
      )}
    </Action>
  )
}

const FIELD_LABELS: Readonly<Record<PayloadField, string>> = {
  request_headers: 'Request headers',
  request_body: 'Request body',
  response_body: 'Response body'
}

export function Redact({ record, onDone }: { record: TrafficSummary; onDone: () => void }) {
  const { api } = useSession()
  const [fields, setFields] = useState<readonly PayloadField[]>(PAYLOAD_FIELDS)
  const action = useAction(async () => {
    const result = await api.redact(record.id, fields)
    onDone()
    return result
  })
  return (
    <Action
      action={action}
      name="Redact"
      question="Delete the chosen content of this record? It cannot be restored."
      isReady={fields.length > 0}
      choice={
        <fieldset>
          <legend>Content</legend>
          {PAYLOAD_FIELDS.map(field => (
            <label key={field} class="inline">
              <input
                type="checkbox"
                checked={fields.includes(field)}
                onChange={event => {
                  const others = fields.filter(one => one !== field)
                  setFields(event.currentTarget.checked ? [...others, field] : others)
                }}
              />
              <span>{FIELD_LABELS[field]}</span>
            </label>
          ))}
        </fieldset>
      }
    >
      {({ redacted_fields: redacted, result: { mirrors = {} } }: RedactResult) => (
        <>
          <Notice kind="info">Redacted: {redacted.join(', ')}.</Notice>
          {Object.entries(mirrors)
            .filter(([, outcome]) => outcome === 'failed')
            .map(([sink]) => (
              <Notice key={sink} kind="error">
                {sink} still has the content. Redact again when it is available.
              </Notice>
            ))}
        </>
      )}
    </Action>
  )
}

interface ActionState<Result> {
  readonly step: 'idle' | 'asking' | 'running'
  readonly result?: Result | undefined
  readonly message?: string | undefined
}

interface RunningAction<Result> {
  readonly state: ActionState<Result>
  ask(): void
  cancel(): void
  run(): Promise<void>
}

function useAction<Result>(run: () => Promise<Result>): RunningAction<Result> {
  const session = useSession()
  const [state, setState] = useState<ActionState<Result>>({ step: 'idle' })
  return {
    state,
    ask: () => setState({ step: 'asking' }),
    cancel: () => setState({ step: 'idle' }),
    async run() {
      setState({ step: 'running' })
      await run().then(
        result => setState({ step: 'idle', result }),
        (error: unknown) => setState({ step: 'idle', message: explainFailure(error, session) })
      )
    }
  }
}

interface ActionProps<Result> {
  readonly action: RunningAction<Result>
  readonly name: string
  readonly question: string
  readonly choice?: ComponentChildren
  readonly isReady?: boolean
  readonly children: (result: Result) => ComponentChildren
}

function Action<Result>({ action, name, question, choice, isReady = true, children }: ActionProps<Result>) {
  const { step, result, message } = action.state
  return (
    <div class="action">
      {step === 'idle' ? (
        <button type="button" onClick={action.ask}>
          {name}…
        </button>
      ) : (
        <fieldset class="confirm" aria-label={name}>
          <p>{question}</p>
          {choice}
          <div class="tools">
            <button type="button" class="danger" onClick={action.run} disabled={step === 'running' || !isReady}>
              {step === 'running' ? 'Running…' : name}
            </button>
            <button type="button" onClick={action.cancel} disabled={step === 'running'}>
              Cancel
            </button>
          </div>
        </fieldset>
      )}
      {message !== undefined && <Notice kind="error">{message}</Notice>}
      {result !== undefined && children(result)}
    </div>
  )
}
