// Mounts the documentation of the API: the OpenAPI document, an interactive page, and a page that only has to be read. Only in DEV. The
// generator and its schemas are loaded with the first request.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAuthRequired } from '../../shared/settings.ts'
import { ASSET_TYPES, type AssetName, readAsset } from '../docs/assets.ts'
import type { OpenApiOptions } from '../docs/document.ts'
import { type MountedRoute, readMountedRoute } from '../docs/mounted-routes.ts'
import { systemTraits } from '../http/request/route-traits.ts'
import { sendWhole } from '../http/respond.ts'
import { GatewayError } from '../normalized/index.ts'
import { lookUpProviderFace } from '../protocols/registry.ts'
import type { WorkerRuntime } from './worker-runtime.ts'

/** The parts of a worker that the documentation reads. */
export type DocsFacts = Pick<WorkerRuntime, 'faces' | 'keyRing' | 'operations' | 'profiles' | 'settings' | 'version'>

const TITLE = 'LLM Gateway'
const EXAMPLE_MODELS = { chat: 'GigaChat-2-Max', embeddings: 'Embeddings' }

/**
 * Pages load only files of this gateway, run no inline script and send nothing to other hosts. The
 * referrer stays: callers are classified by it (operations.md 11.5).
 */
const PAGE_HEADERS = [
  'content-security-policy',
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options',
  'nosniff',
  'referrer-policy',
  'same-origin',
  'cache-control',
  'no-cache'
]

/** The address of a file has the version of the gateway in its query. */
const ASSET_HEADERS = ['x-content-type-options', 'nosniff', 'cache-control', 'public, max-age=86400']
const DOCUMENT_HEADERS = ['x-content-type-options', 'nosniff', 'cache-control', 'no-cache']

/** Mounts `/docs`, `/redoc` and `/openapi.json`. Lists the routes that are mounted after it, so it must be called before all others. */
export function registerDocsRoutes(app: FastifyInstance, facts: DocsFacts): void {
  const routes: MountedRoute[] = []
  app.addHook('onRoute', route => {
    routes.push(...readMountedRoute(route, facts.settings))
  })
  const load = once(async () => {
    const [{ createOpenApiDocument }, { writeInteractivePage, writeReferencePage }] = await Promise.all([
      import('../docs/document.ts'),
      import('../docs/pages.ts')
    ])
    const options = { ...describeGateway(facts), routes }
    // A client is generated from every path; on a page the same operation would stand there once for each prefix.
    const shown = createOpenApiDocument(options, 'operations')
    const text = JSON.stringify(createOpenApiDocument(options))
    return { document: shown, text, shownText: JSON.stringify(shown), writeInteractivePage, writeReferencePage }
  })

  function mount(url: string, handler: (reply: FastifyReply) => Promise<void>, template = url): void {
    const handle = (_request: FastifyRequest, reply: FastifyReply) => handler(reply)
    app.route({ method: ['GET', 'HEAD'], url, config: { traits: systemTraits(template) }, handler: handle })
  }

  async function sendReference(reply: FastifyReply): Promise<void> {
    const { document, writeReferencePage } = await load()
    sendPage(reply, writeReferencePage(document))
  }

  mount('/openapi.json', async reply => {
    const { text } = await load()
    sendWhole(reply, { status: 200, contentType: 'application/json', headers: DOCUMENT_HEADERS, body: text })
  })
  mount(
    '/docs/operations.json',
    async reply => {
      const { shownText } = await load()
      sendWhole(reply, { status: 200, contentType: 'application/json', headers: DOCUMENT_HEADERS, body: shownText })
    },
    '/docs/{asset}'
  )
  mount('/docs', async reply => {
    // Without the files of Swagger UI, as after an install without development dependencies, there is still something to read.
    if ((await readAsset('swagger-ui-bundle.js')) === undefined) return await sendReference(reply)
    const { document, writeInteractivePage } = await load()
    sendPage(reply, writeInteractivePage(document.info))
  })
  mount('/redoc', sendReference)
  for (const [name, contentType] of Object.entries(ASSET_TYPES)) {
    const sendAsset = async (reply: FastifyReply): Promise<void> => {
      const body = await readAsset(name as AssetName)
      if (body === undefined) throw new GatewayError('unknown_url')
      sendWhole(reply, { status: 200, contentType, headers: ASSET_HEADERS, body })
    }
    // One name for all files in metrics and logs.
    mount(`/docs/${name}`, sendAsset, '/docs/{asset}')
  }
}

/** What the document says about this gateway besides its routes. */
export function describeGateway({
  faces,
  keyRing,
  operations,
  profiles,
  settings,
  version
}: DocsFacts): Omit<OpenApiOptions, 'routes'> {
  // The document is open, and with a keys file not every client may know every alias.
  const alias = keyRing.hasFile
    ? undefined
    : profiles.profiles.flatMap(({ models }) => models).find(({ enabled }) => enabled)?.publicAlias
  return {
    title: TITLE,
    version,
    operations,
    isKeyNeeded: isAuthRequired(settings),
    hasKeysFile: keyRing.hasFile,
    exampleModels: alias === undefined ? EXAMPLE_MODELS : { chat: alias, embeddings: alias },
    hasRelay: profiles.profiles.some(
      ({ providerKind, wire }) =>
        lookUpProviderFace(faces, { providerKind, apiMode: 'v1', wire })?.sameWire?.protocol === 'completions'
    )
  }
}

function sendPage(reply: FastifyReply, body: string): void {
  sendWhole(reply, { status: 200, contentType: 'text/html; charset=utf-8', headers: PAGE_HEADERS, body })
}

/** Runs an asynchronous function once; a failure is tried again. */
function once<Value>(run: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | undefined
  return () => {
    running ??= run().catch((error: unknown) => {
      running = undefined
      throw error
    })
    return running
  }
}
