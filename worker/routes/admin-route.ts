// What every route of the admin API and of the debugging routes has: it needs the admin key, its response is stored in no cache, and it
// takes only the query parameters of its documentation. A misspelt parameter would otherwise be ignored, and the response would be another
// one than was asked for (decisions.md 96).
import type { FastifyReply, RouteOptions } from 'fastify'
import { closestMatch } from 'leven'
import type { QueryValues } from '../http/request/families.ts'
import { systemTraits } from '../http/request/route-traits.ts'
import { sendJson } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'

/** The options of the route at a path such as `/_admin/keys/:name`, with these query parameters. */
export function adminRoute(
  method: 'GET' | 'POST',
  url: string,
  parameters: readonly string[] = []
): Pick<RouteOptions, 'method' | 'url' | 'config' | 'onRequest'> {
  const template = url.replace(/:(\w+)/, '{$1}')
  return {
    method: method === 'GET' ? ['GET', 'HEAD'] : method,
    url,
    config: { traits: systemTraits(template, 'admin-key') },
    onRequest(request, _reply, done) {
      refuseUnknownParameters(request.context.query, parameters)
      done()
    }
  }
}

/** Responds with one JSON value. */
export function sendDocument(
  reply: FastifyReply,
  document: object,
  headers: Readonly<Record<string, string>> = {}
): void {
  sendJson(reply, 200, { 'cache-control': 'no-store', ...headers }, JSON.stringify(document))
}

/** Names that are written back are cut here. */
const NAME_CHARACTERS_MAX = 64
/** More names are not told one by one. */
const NAMES_MAX = 20

/** Raises `unknown_parameter` with the names that are not known, and the nearest known one of each. */
function refuseUnknownParameters(query: QueryValues, known: readonly string[]): void {
  const names = Object.keys(query).filter(name => !known.includes(name))
  const [first] = names
  if (first === undefined) return
  const errors = names.slice(0, NAMES_MAX).map(name => ({ path: `query.${cut(name)}`, message: suggest(name, known) }))
  const message = `Unknown query parameter '${cut(first)}'. ${suggest(first, known)}`
  throw new GatewayError('unknown_parameter', { message, param: `query.${cut(first)}`, errors })
}

function cut(name: string): string {
  return name.slice(0, NAME_CHARACTERS_MAX).toWellFormed()
}

/** A name that is near to none, such as a filter of another route, is answered with all that the route has. */
function suggest(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'The route takes no query parameter.'
  const written = cut(name).toLowerCase()
  const begun = written.length < BEGINNING_CHARACTERS_MIN ? undefined : known.find(one => one.startsWith(written))
  const nearest = begun ?? closestMatch(written, known, { maxDistance: Math.floor(written.length / 2) })
  return nearest === undefined ? `The route takes ${known.join(', ')}.` : `The nearest known name is '${nearest}'.`
}

/** What is shorter begins many names. */
const BEGINNING_CHARACTERS_MIN = 3
