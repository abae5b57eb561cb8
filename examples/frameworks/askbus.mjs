// Asks people and waits for as long as it takes; fetch is all it needs. With a dialect, the request and the answer have
// the shape of that framework (docs/http.md lists them). The same id again is the same ask, so a program that was
// stopped while it waited starts again and asks nobody twice.
//
// ASKBUS_HTTP_URL (default http://127.0.0.1:8420) and ASKBUS_TOKEN ("askbus token issue --session build-42") say where.
export async function askbus(id, request, dialect = '') {
  const url = new URL('/v1/asks?wait=50s', process.env.ASKBUS_HTTP_URL ?? 'http://127.0.0.1:8420')
  if (dialect) url.searchParams.set('dialect', dialect)
  for (;;) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${process.env.ASKBUS_TOKEN}`, 'content-type': 'application/json', 'idempotency-key': id },
      body: JSON.stringify(request),
    })
    const answer = await response.json()
    if (!response.ok) throw new Error(answer.detail)
    if (response.status !== 202) return answer // 202: nobody has answered yet
  }
}
