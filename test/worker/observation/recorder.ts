// An observer that keeps every moment, and a whole worker for it to observe, in front of an upstream that does what a test says.

import { pino } from 'pino'
import type { Test } from 'tap'
import type { ProfileSet } from '../../../shared/profile/profile.ts'
import { parseSettings } from '../../../shared/settings.ts'
import { createWorkerApp, type WorkerApp } from '../../../worker/app.ts'
import type { ClosedFacts, RequestObserver, RequestView } from '../../../worker/observation/observer.ts'
import { providerFaces } from '../../../worker/protocols/registry.ts'
import { providerKinds } from '../../../worker/providers/registry.ts'
import { waitUntil } from '../../support/processes.ts'
import { workerOptions } from '../../support/worker-app.ts'
import { type StubHandler, startStub } from '../providers/support/stub-upstream.ts'

/** A moment: its name, then the facts that came with it. */
export type Moment = readonly [name: string, ...facts: unknown[]]

export interface ObservedLife {
  moments: Moment[]
  view: RequestView
  /** How it ended; undefined while it runs. */
  closed: ClosedFacts | undefined
}

export interface Recorder {
  observer: RequestObserver
  /** In the order in which the requests were opened. */
  lives: ObservedLife[]
  /** Resolves with the lives so far once this many are closed. */
  whenClosed(count: number): Promise<ObservedLife[]>
  /** Resolves once the newest life has seen this moment. */
  whenSeen(name: string): Promise<void>
}

export function createRecorder(): Recorder {
  const byRequest = new Map<RequestView, ObservedLife>()
  const lives: ObservedLife[] = []

  function keep(name: string) {
    return (request: RequestView, ...facts: unknown[]): void => {
      let life = byRequest.get(request)
      if (life === undefined) {
        life = { moments: [], view: request, closed: undefined }
        byRequest.set(request, life)
        lives.push(life)
      }
      life.moments.push([name, ...facts])
    }
  }

  const keepClosed = keep('closed')
  return {
    lives,
    observer: {
      name: 'recorder',
      opened: keep('opened'),
      planned: keep('planned'),
      upstreamCall: keep('upstreamCall'),
      firstByte: keep('firstByte'),
      firstToken: keep('firstToken'),
      usage: keep('usage'),
      anomaly: keep('anomaly'),
      closed(request, facts) {
        keepClosed(request, facts)
        const life = byRequest.get(request)
        if (life !== undefined) life.closed = facts
      }
    },
    async whenClosed(count) {
      await waitUntil(() => lives.filter(life => life.closed !== undefined).length >= count, `${count} are closed`)
      return lives
    },
    whenSeen: name =>
      waitUntil(() => lives.at(-1)?.moments.some(([seen]) => seen === name) === true, `${name} was seen`)
  }
}

export interface ObservedWorker {
  app: WorkerApp
  recorder: Recorder
  url: string
  port: number
  /** Every line that was logged, parsed. */
  logged: Array<Record<string, unknown>>
}

export interface ObservedWorkerOptions {
  env?: Record<string, string>
  /** In addition to the recorder. */
  observers?: RequestObserver[]
  /** Profiles for the origin of the upstream; absent: the native one. */
  profiles?: (origin: string) => ProfileSet
}

/** A worker on a free port whose upstream is `handler`; both end with the test. */
export async function startObservedWorker(
  t: Test,
  handler: StubHandler,
  options: ObservedWorkerOptions = {}
): Promise<ObservedWorker> {
  const upstream = await startStub(handler)
  const settings = parseSettings({ UPSTREAM_BASE_URL: upstream.origin, ...options.env })
  const profiles = options.profiles?.(upstream.origin)
  const logged: Array<Record<string, unknown>> = []
  const log = pino({ level: 'debug' }, { write: line => logged.push(JSON.parse(line)) })
  const recorder = createRecorder()
  const app = await createWorkerApp(
    { ...workerOptions(settings, profiles), log },
    {
      faces: providerFaces,
      kinds: providerKinds,
      observers: [...(options.observers ?? []), recorder.observer]
    }
  )
  t.teardown(async () => {
    await upstream.close()
    await app.close()
  })
  const { port } = await app.listen({ host: '127.0.0.1', port: 0, reusePort: false })
  return { app, recorder, url: `http://127.0.0.1:${port}`, port, logged }
}
