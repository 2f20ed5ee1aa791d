// The built-in tools of v2, and the sources, files and text that a run of each tool returns.
import type { DirectiveBuiltin } from './directive-steps.ts'

export interface BuiltinRun {
  name: string
  status: string
  isCensored: boolean
  /** Remaining seconds in a progress event; `null` for a tool that does not report them. */
  secondsLeft: number | null
  sources: Record<string, { url: string; title: string }> | null
  file: { kind: 'picture' | 'model'; mime: string; target: string } | null
  text: string
}

export const builtinNames: readonly string[] = [
  'web_search',
  'code_interpreter',
  'image_generate',
  'url_content_extraction',
  'model_3d_generate'
]

/** Words of a prompt that start a declared tool in the tool mode `auto`. */
const requestPatterns: Record<string, RegExp> = {
  web_search: /\b(?:search|look)\b[^.?!]*\b(?:web|internet|online)\b/i,
  code_interpreter: /\b(?:use|run|write|with)\b[^.?!]*\bcode\b/i,
  image_generate: /\b(?:draw|paint|generate an image|generate a picture)\b/i,
  url_content_extraction: /https?:\/\//i,
  model_3d_generate: /\b3d model\b/i
}

/** True when the prompt has the words that start the built-in tool. */
export function isRequested(name: string, prompt: string): boolean {
  return requestPatterns[name]?.test(prompt) === true
}

const failedStatuses = ['fail', 'failed', 'failure', 'error']

/**
 * Creates one run of a built-in tool; an unknown tool name gives a run with a fixed text.
 * @param prompt the user's text, which the run's text quotes
 */
export function runBuiltin(tool: DirectiveBuiltin, prompt: string): BuiltinRun {
  const run: BuiltinRun = { ...tool, secondsLeft: null, sources: null, file: null, text: '' }
  if (failedStatuses.includes(tool.status)) return { ...run, text: `The tool ${tool.name} failed.` }
  const subject = prompt.length > 120 ? `${prompt.slice(0, 120).trimEnd()}…` : prompt
  switch (tool.name) {
    case 'web_search':
      return {
        ...run,
        sources: {
          1: { url: 'https://example.test/first', title: 'The first page' },
          2: { url: 'https://example.test/second', title: 'Вторая страница' }
        },
        text: `I searched for "${subject}". The first page answers it [sources=[1]]. Both pages agree [sources=[1, 2]].`
      }
    case 'code_interpreter':
      return { ...run, text: 'I ran a small program for this. It printed 42.' }
    case 'url_content_extraction': {
      const url = /https?:\/\/[^\s"<>]+/i.exec(prompt)?.[0].replace(/[.,;:!?)]+$/, '') ?? 'https://example.test/'
      return { ...run, text: `I read ${url}. The page has three parts: a start, a middle and an end.` }
    }
    case 'image_generate':
      return {
        ...run,
        secondsLeft: 5,
        file: { kind: 'picture', mime: 'image/jpeg', target: 'image' },
        text: 'The picture has been created.'
      }
    case 'model_3d_generate':
      return {
        ...run,
        secondsLeft: 20,
        file: { kind: 'model', mime: 'model/gltf-binary', target: 'model' },
        text: 'The 3D model has been created.'
      }
    default:
      return { ...run, text: `The tool ${tool.name} has run.` }
  }
}

const pictureBase64 =
  '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAj/wAARCABAAEADAREAAhEAAxEA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACAAMAAD8A456K5w4h5xDykPOIecQ84h5xD1Y5jnEPOIeUh5xDziHnEPOIerFY5xD3sr5neogAAAB5G+k3npxD1YrHOIe9dfN71YAAAAPK30W84OIerHMg4h71Z87PWwAAAA8yfQjzM4h6sVjnEPenPn57AAAAAHnT3x5ccQ9WOY5xDziHlNPOIecQ84h5xD1Y5jnEPOIeUh5xDziHnEPOIe//2Q=='

/** A JPEG of 64 by 64 pixels: a yellow square on a blue background. */
export const picture: Buffer = Buffer.from(pictureBase64, 'base64')

/** A binary glTF file with an empty scene: the header and one JSON chunk. */
export const emptyModel: Buffer = createEmptyModel()

function createEmptyModel(): Buffer {
  const source = JSON.stringify({ asset: { version: '2.0' }, scene: 0, scenes: [{ nodes: [] }] })
  const json = Buffer.from(source.padEnd(Math.ceil(source.length / 4) * 4, ' '))
  const header = Buffer.alloc(20)
  header.write('glTF', 0, 'latin1')
  header.writeUInt32LE(2, 4)
  header.writeUInt32LE(header.length + json.length, 8)
  header.writeUInt32LE(json.length, 12)
  header.write('JSON', 16, 'latin1')
  return Buffer.concat([header, json])
}
