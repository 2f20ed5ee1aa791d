// Questions about an image at an address, in every client protocol.

import type { Family } from './families.ts'

/** The body of a question with an image at an address, in the last turn of the user or in an earlier one. */
export function writeImageQuestion(family: Family, url: string, isHistory: boolean): object {
  const text = 'What is it?'
  const turns: Record<string, object[]> = {
    completions: [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image_url', image_url: { url } }
        ]
      }
    ],
    responses: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text },
          { type: 'input_image', image_url: url }
        ]
      }
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image', source: { type: 'url', url } }
        ]
      }
    ],
    content: [{ role: 'user', parts: [{ text }, { fileData: { mimeType: 'image/png', fileUri: url } }] }]
  }
  const more: Record<string, object[]> = {
    completions: [
      { role: 'assistant', content: 'A cat.' },
      { role: 'user', content: 'And?' }
    ],
    responses: [
      { role: 'assistant', content: 'A cat.' },
      { role: 'user', content: 'And?' }
    ],
    messages: [
      { role: 'assistant', content: 'A cat.' },
      { role: 'user', content: 'And?' }
    ],
    content: [
      { role: 'model', parts: [{ text: 'A cat.' }] },
      { role: 'user', parts: [{ text: 'And?' }] }
    ]
  }
  const list = [...(turns[family.name] ?? []), ...(isHistory ? (more[family.name] ?? []) : [])]
  const member = { completions: 'messages', responses: 'input', messages: 'messages', content: 'contents' }[family.name]
  return { [member]: list }
}
