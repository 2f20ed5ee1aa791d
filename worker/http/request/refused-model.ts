// The model that a refused request named, for its record: nothing of such a request was translated.

/** What the metrics and records keep of a name that may be any text. */
const REFUSED_MODEL_CHARACTERS_MAX = 256
/** The body of a larger request may be in a thread. */
const READ_AGAIN_BYTES_MAX = 64 * 1024

const PATH_MODEL = /\/openai\/deployments\/([^/]+)\/|\/models\/([^:]+):[A-Za-z]+$/

/** The model of the path or of the JSON body, cut to a bound; undefined where neither names one. */
export function readRefusedModel(path: string, body: Uint8Array): string | undefined {
  return (readPathModel(path) ?? readBodyModel(body))?.slice(0, REFUSED_MODEL_CHARACTERS_MAX)
}

function readBodyModel(body: Uint8Array): string | undefined {
  if (body.byteLength === 0 || body.byteLength > READ_AGAIN_BYTES_MAX) return undefined
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    const model = typeof value === 'object' && value !== null && 'model' in value ? value.model : undefined
    return typeof model === 'string' && model !== '' ? model : undefined
  } catch {
    return undefined
  }
}

/** The model of a path, as in `/v1beta/models/m:generateContent` or `/openai/deployments/m/embeddings`. */
function readPathModel(path: string): string | undefined {
  const [, deployed, named] = PATH_MODEL.exec(path) ?? []
  const name = deployed ?? named
  try {
    return name === undefined ? undefined : decodeURIComponent(name)
  } catch {
    return undefined
  }
}
