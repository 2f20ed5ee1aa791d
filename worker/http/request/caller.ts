// Classifies what sent a request by its headers (operations.md 11.5).
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../../observation/observer.ts'
import { rememberTexts } from '../../performance/remember-texts.ts'

type ClientFamily = NonNullable<Caller['client_family']>

interface Classification extends Pick<Caller, 'name' | 'category'> {
  client_family: ClientFamily | undefined
  ui?: NonNullable<Caller['ui']>
}

/** Longest text that is taken from a header. */
const TEXT_CHARACTERS_MAX = 256

interface Row extends Pick<Caller, 'name' | 'category'> {
  /** Whether a user agent in lower case belongs to this row. */
  matches: (agent: string) => boolean
  /**
   * The family, for all headers; `of-headers`: only that of the headers. Absent: that of
   * the headers, else that of the user agent.
   */
  family?: ClientFamily | 'of-headers'
}

/** In the order in which they are tried. */
const ROWS: readonly Row[] = [
  {
    name: 'claude-code',
    category: 'agent',
    family: 'anthropic',
    matches: holds('claude-code', 'claude code', 'claude-cli')
  },
  {
    name: 'qwen-code',
    category: 'agent',
    family: 'of-headers',
    matches: holds('qwen-code', 'qwen_code', 'qwen code', 'qwencode')
  },
  { name: 'codex', category: 'agent', family: 'openai', matches: holds('codex') },
  { name: 'openai-python', category: 'sdk', matches: holds('openai/python', 'openai-python') },
  { name: 'openai-node', category: 'sdk', matches: holds('openai/node', 'openai-js', 'openai-node', 'openai/js') },
  { name: 'anthropic-python', category: 'sdk', matches: holds('anthropic/python', 'anthropic-python') },
  {
    name: 'anthropic-node',
    category: 'sdk',
    matches: holds('anthropic/typescript', 'anthropic-js', 'anthropic/js')
  },
  { name: 'openai-sdk', category: 'sdk', matches: agent => agent.startsWith('openai/') },
  { name: 'anthropic-sdk', category: 'sdk', matches: agent => agent.startsWith('anthropic/') },
  { name: 'gemini-cli', category: 'agent', family: 'gemini', matches: holds('geminicli', 'gemini-cli') },
  { name: 'aider', category: 'agent', matches: holdsProduct('aider') },
  { name: 'cursor', category: 'agent', matches: holdsProduct('cursor') },
  { name: 'openhands', category: 'agent', matches: holdsProduct('openhands') },
  { name: 'litellm', category: 'sdk', matches: holdsProduct('litellm') }
]

const BROWSER = holds('mozilla/', 'chrome/', 'safari/')
const CONTENT_SDK = 'google-genai-sdk'

/**
 * Classifies the sender of a request with these headers. Never throws, and every text of the result
 * is bounded.
 */
export function classifyCaller(headers: IncomingHttpHeaders): Caller {
  const agent = findAgent(headers['user-agent'] ?? '')
  const family = findHeaderFamily(headers)
  const { referer, 'x-agent-id': agentId, 'x-goog-api-client': contentClient } = headers
  if (referer !== undefined || agentId !== undefined || contentClient !== undefined) {
    return describeCaller(agent, family, { referer, agentId, contentClient })
  }
  const key = family ?? 'none'
  let caller = agent.callers[key]
  if (caller === undefined) {
    caller = describeCaller(agent, family, {})
    agent.callers[key] = caller
  }
  return caller
}

/** Headers that few requests have. */
interface RareHeaders {
  referer?: string | undefined
  agentId?: string | string[] | undefined
  contentClient?: string | string[] | undefined
}

function describeCaller(agent: UserAgent, headerFamily: ClientFamily | undefined, rare: RareHeaders): Caller {
  const agentId = readText(rare.agentId)
  const { name, category, client_family, ui } = classify(agent, headerFamily, rare)
  return {
    name,
    category,
    ...(client_family !== undefined && { client_family }),
    ...(category === 'sdk' && { sdk: name }),
    ...(category === 'agent' && { agent: name }),
    ...(ui !== undefined && { ui }),
    ...(agent.text !== undefined && { user_agent: agent.text }),
    ...(agentId !== undefined && { agent_id: agentId })
  }
}

function classify(agent: UserAgent, headerFamily: ClientFamily | undefined, rare: RareHeaders): Classification {
  const { folded, row, text } = agent
  const family = headerFamily ?? agent.family
  const ui = findDocsPage(readText(rare.referer))
  if (ui !== undefined) return { name: `${ui}-ui`, category: 'ui', client_family: family, ui }
  if (row !== undefined) {
    const { name, category } = row
    const stated = row.family === 'of-headers' ? headerFamily : (row.family ?? family)
    return { name, category, client_family: stated }
  }
  const contentSdk = findContentSdk(folded, readText(rare.contentClient))
  if (contentSdk !== undefined) return { name: contentSdk, category: 'sdk', client_family: 'gemini' }
  if (headerFamily !== undefined) {
    return { name: `${headerFamily}-compatible`, category: 'sdk', client_family: headerFamily }
  }
  if (BROWSER(folded)) return { name: 'browser', category: 'browser', client_family: family }
  if (text === undefined) return { name: 'unknown', category: 'unknown', client_family: family }
  return { name: nameOfClient(folded), category: 'http_client', client_family: family }
}

function findHeaderFamily(headers: IncomingHttpHeaders): ClientFamily | undefined {
  let family: ClientFamily | undefined
  for (const name in headers) {
    if (name.startsWith('anthropic-')) return 'anthropic'
    if (name.startsWith('openai-')) family = 'openai'
  }
  return family
}

function findAgentFamily(agent: string): ClientFamily | undefined {
  if (agent.includes('anthropic') || agent.includes('claude-code')) return 'anthropic'
  if (agent.includes('openai') || agent.includes('codex')) return 'openai'
  return undefined
}

/** The page of the gateway's own documentation that sent the request. */
function findDocsPage(referer: string | undefined): 'swagger' | 'redoc' | undefined {
  if (referer === undefined) return undefined
  const path = URL.parse(referer)?.pathname.replace(/\/+$/, '')
  if (path?.endsWith('/docs') === true) return 'swagger'
  return path?.endsWith('/redoc') === true ? 'redoc' : undefined
}

/**
 * The SDK of the content family in a user agent, or in the header that it sends where a browser
 * forbids to set a user agent.
 */
function findContentSdk(agent: string, client: string | undefined): string | undefined {
  const text = agent.includes(CONTENT_SDK) ? agent : client?.toLowerCase()
  if (text?.includes(CONTENT_SDK) !== true) return undefined
  const language = /\bgl-(python|node|go)\b/.exec(text)?.[1]
  return language === undefined ? CONTENT_SDK : `google-genai-${language}`
}

/** The product that a user agent begins with. */
function nameOfClient(agent: string): string {
  const [product = ''] = agent.split(/[ /]/, 1)
  const name = product.replace(/[^a-z0-9_.-]+/g, '-').replace(/^-+|-+$/g, '')
  return name === '' ? 'http-client' : name
}

/** What was read from a user agent. */
interface UserAgent {
  /** As the header has it, shortened; undefined for none. */
  text: string | undefined
  /** In lower case. */
  folded: string
  row: Row | undefined
  family: ClientFamily | undefined
  /**
   * The callers that have this user agent and none of the rare headers, by the family that their
   * headers name.
   */
  callers: { [Name in ClientFamily | 'none']?: Caller }
}

const findAgent = rememberTexts(readAgent)

function readAgent(header: string): UserAgent {
  const text = readText(header)
  const folded = text?.toLowerCase() ?? ''
  return {
    text,
    folded,
    row: ROWS.find(({ matches }) => matches(folded)),
    family: findAgentFamily(folded),
    callers: {}
  }
}

/** The text of a header with its white space collapsed; undefined for none. */
function readText(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  const text = header.replace(/\s+/g, ' ').trim().slice(0, TEXT_CHARACTERS_MAX).trimEnd()
  return text === '' ? undefined : text
}

function holds(...words: string[]): (agent: string) => boolean {
  return agent => words.some(word => agent.includes(word))
}

/** True for a user agent that names the product, and not a longer word that contains its name. */
function holdsProduct(product: string): (agent: string) => boolean {
  const pattern = new RegExp(`(?:^|[\\s(;,/+])${product}(?![a-z0-9])`)
  return agent => pattern.test(agent)
}
