"""How is a line with curl put to a hub without curl, which not everybody has?"""

import shlex

import httpx2

HUB = "http://127.0.0.1:4477"


async def typed(client: httpx2.AsyncClient, line: str) -> httpx2.Response:
    """What a line with curl asks for. Only the options that stand on the pages are understood."""
    curl, *words = shlex.split(line.removeprefix("$ "))
    assert curl == "curl"
    method, headers, body, [url] = "", {}, None, [word for word in words if word.startswith(HUB)]
    given = iter(word for word in words if word != url)
    for option in given:
        value = next(given)
        if option == "-H":
            name, _, text = value.partition(": ")
            headers[name] = text
        elif option == "-X":
            method = value
        else:
            assert option == "-d", option
            body = value.encode()
    return await client.request(method or ("GET" if body is None else "POST"), url, headers=headers, content=body)
