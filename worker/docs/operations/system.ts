// The system routes (operations.md 2), without the root, the metrics and the pages of this
// documentation.
import type { Parameter, RouteDocument, SuccessResponse } from '../operation.ts'
import { reference } from './references.ts'

const system = (statuses: readonly number[] = []) => ({ form: 'system', statuses }) as const
const empty: SuccessResponse = { description: 'The process is alive. The body is empty.' }
const readiness = { 'application/json': reference('Readiness') }
const ready = {
  200: { description: 'Requests can be served.', content: readiness },
  503: { description: 'Not ready; `reasons` says why.', content: readiness }
}
const status = { 200: { description: 'A gateway is here.', content: { 'application/json': reference('RootStatus') } } }

type Short = Pick<RouteDocument, 'id' | 'method' | 'path' | 'summary' | 'responses'> & Partial<RouteDocument>

const health = (operation: Short): RouteDocument => ({ tag: 'System / Health', errors: system(), ...operation })

const LINES_MAX = 5000
const lines = (name: string, place: 'path' | 'query'): Parameter => ({
  name,
  in: place,
  description: 'How many of the last lines.',
  schema: { type: 'integer', minimum: 1, maximum: LINES_MAX, ...(place === 'query' ? { default: 100 } : {}) },
  ...(place === 'path' ? { required: true } : {})
})

const LOG_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL']

const logText: RouteDocument['responses'] = {
  200: { description: 'The lines as they are.', content: { 'text/plain; charset=utf-8': { type: 'string' } } }
}
const LOG_STATUSES = [401, 403, 404, 422]

const log = (operation: Short & Partial<RouteDocument>): RouteDocument => ({
  tag: 'System / Logs',
  errors: system(LOG_STATUSES),
  ...operation
})

export const systemOperations: readonly RouteDocument[] = [
  health({ id: 'getHealth', method: 'get', path: '/health', summary: 'Liveness', responses: { 200: empty } }),
  health({
    id: 'getLivez',
    method: 'get',
    path: '/livez',
    summary: 'Liveness, as Kubernetes names it',
    responses: { 200: empty }
  }),
  health({ id: 'getPing', method: 'get', path: '/ping', summary: 'Liveness', responses: { 200: empty } }),
  health({
    id: 'postPing',
    method: 'post',
    path: '/ping',
    summary: 'Liveness',
    responses: { 200: empty },
    errors: system([408, 413, 415])
  }),
  health({
    id: 'getReady',
    method: 'get',
    path: '/ready',
    summary: 'Readiness',
    responses: ready,
    errors: { form: 'machine', statuses: [] }
  }),
  health({
    id: 'getReadyz',
    method: 'get',
    path: '/readyz',
    summary: 'Readiness, as Kubernetes names it',
    responses: ready,
    errors: { form: 'machine', statuses: [] }
  }),
  health({ id: 'getV1Root', method: 'get', path: '/v1', summary: 'Is a gateway here', responses: status }),
  health({ id: 'getV2Root', method: 'get', path: '/v2', summary: 'Is a gateway here', responses: status }),
  health({ id: 'getHello', method: 'get', path: '/api/hello', summary: 'Is a gateway here', responses: status }),
  log({
    id: 'getLastLogLines',
    method: 'get',
    path: '/logs/{last_n_lines}',
    summary: 'The last lines of the log file',
    parameters: [lines('last_n_lines', 'path')],
    responses: logText
  }),
  log({
    id: 'getLogs',
    method: 'get',
    path: '/logs',
    summary: 'The last lines of the log file',
    parameters: [lines('lines', 'query')],
    responses: logText
  }),
  log({
    id: 'streamLogs',
    method: 'get',
    path: '/logs/stream',
    summary: 'New lines of the log file, as they are written',
    parameters: [
      {
        name: 'level',
        in: 'query',
        description: 'Lines of this level and more severe ones.',
        schema: { enum: [...LOG_LEVELS] }
      },
      {
        name: 'lines',
        in: 'query',
        description: 'How many earlier lines come first.',
        schema: { type: 'integer', minimum: 0, maximum: 5000, default: 0 }
      }
    ],
    responses: {
      200: {
        description: 'Server-sent events `message` with one line each, and `error` where the file cannot be read.',
        content: { 'text/event-stream; charset=utf-8': { type: 'string' } }
      }
    },
    errors: system([401, 403, 429])
  }),
  log({
    id: 'getLogViewer',
    method: 'get',
    path: '/logs/html',
    summary: 'A page that shows the log as it is written',
    responses: { 200: { description: 'The page.', content: { 'text/html; charset=utf-8': { type: 'string' } } } },
    errors: system([401, 403])
  })
]
